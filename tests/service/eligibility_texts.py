"""Texts of our own, written for the kinds that the data sets lack; none of them stands in a rule."""

PERSONAL = """
What's the minimum payment on my Amex?
has my application gone through yet
is my order on its way
when does my flight board
is flight UA 212 of mine on time
how many PTO hours have I used so far
how much did I spend on groceries in March
did they find my suitcase
is my reservation at the Ritz still good
what did I have on my agenda for Friday
Which plan am I on?
What's my remaining data allowance?
Am I behind on my rent?
do i owe any taxes this year
my balance please
Check whether my refund was approved
What grade did I get in chemistry?
who is my account manager
How far along is my ticket #48213?
could you look up my membership number
Do I still have any loyalty points?
which of my invoices are unpaid
Can you see if I got any mail from Dana?
how old is my car battery
what's my routing number
when am I scheduled to work next
Has my package arrived?
Am I eligible for the upgrade?
Where did I park?
what are my working hours next week
How many tickets are assigned to me?
summarize my inbox
read me my messages
what's left on my to-do
我的余额是多少
我这个月花了多少钱
我的快递到哪了
我还剩几天年假
查一下我的订单
我的航班几点起飞
我有没有未读邮件
帮我看看我的信用卡账单
我欠多少钱
我的会员什么时候到期
我今天有什么会议
我的申请审批了吗
我的工单处理到哪一步了
购物清单上有什么
我的退款到账了吗
我的套餐还剩多少流量
我上个月的工资发了吗
我考试考了多少分
我名下有几张卡
我的课表
我昨天走了多少步
我下次体检是什么时候
我订的酒店确认了吗
我有几个待办
帮我查一下我的积分
我的座位号是多少
我的合同什么时候到期
有人给我打过电话吗
我现在的套餐是什么
上次我买了什么
when does my lease end
what seat am i in
how far have i run this week
what's the tracking number for my shoes
are my tickets confirmed
was my payment received
how many calories did I eat today
how many steps have I taken
when is my dentist visit
did my boss reply to me
what is my blood type on file
tell me which subscriptions I pay for
list the documents I uploaded
what did i buy last month
when was my last login
who has access to my files
my last three purchases
do you have my email on record
check the status of my application
what apps are installed on my phone
is my laptop still under warranty
when did i join
whats my employee id
how much storage have i used
do i have any missed calls
did i turn the oven off
have I been paid
where is the parcel I ordered
what's my screen time
what size shoes do I wear
remind me what I said yesterday
how are my investments doing
what's the balance in checking
am i on the guest list
when is our anniversary
how long have i been a member
who is my doctor
which doctor do i see
what is the gate for my flight
look up my reservation under Smith
show me the photos from my trip
what's the wifi password at my house
show my open pull requests
which repos do I own
how many leave days remain for me
what's my current plan
what's on tonight for me
my appointments for tuesday
how much have I saved so far
any missed calls?
"""
VOLATILE = """
What's the weather like in Lima?
is it going to rain this weekend
What time is it in Tokyo?
how are the markets doing
latest iPhone price
who won last night
What is the price of bitcoin right now?
which films are on at the Odeon tonight
Is the A4 jammed?
any news on the strike
What's 100 USD in yen today?
when is the next train to Leeds
What day is it?
are there any storms coming
Who is the current CEO of Intel?
is the pharmacy open now
What's the newest version of Node?
Is the API down at the moment?
今天天气怎么样
现在几点
今天几号
明天会下雨吗
最新的新闻有哪些
美元兑人民币汇率是多少
特斯拉股价
现在堵车吗
下一班高铁是几点
今晚有什么电影上映
最近有什么新闻
目前油价多少
周末天气好吗
最近的地铁末班车几点
黄金价格今天多少
谁赢了昨晚的比赛
现在比特币多少钱
"""
ACTING = """
Cancel my order
please cancel the meeting with Bob
Book a flight to Rome for Monday
order a large pepperoni pizza
set a timer for ten minutes
Remind me to call Dad
turn the heating down
play some jazz
skip this one
Send an email to Priya saying I'm late
text John that I'm on my way
transfer $200 to savings
pay my electricity bill
Delete my account.
Deploy the branch to staging
restart my server
assign this ticket to Lena
Refund order 7781
create a ticket for the broken printer
Schedule a call with the team at 3pm
unsubscribe me from the newsletter
Wake me up at six
lock the front door
add eggs to the shopping list
reset my password
call mom
change my seat to an aisle one
Approve the pull request
Close this issue
Upgrade me to premium
帮我订一张去上海的机票
取消我的订单
提醒我明天开会
把灯关掉
播放周杰伦的歌
给妈妈打电话
设一个七点的闹钟
帮我叫一辆车
转账五百元给李雷
删除我的账号
发邮件给王经理
请把空调调到26度
帮我预约明天的医生
打开客厅的灯
帮我转人工
帮我挂失银行卡
把会议改到周四
关掉电视
帮我点一份外卖
给老板发条消息说我晚到
开启勿扰模式
帮我续费会员
把这个文件发给小李
帮我买两张电影票
导航回家
建一个叫旅行的清单
下一首
重启服务器
put me through to an agent
i want to speak to a human
connect me with support
make the screen brighter
take a picture
scan this document
start a new chat
navigate home
drive me to the airport
open the garage
arm the alarm system
raise the blinds
run the dishwasher
feed the cat at noon
log my weight as 80 kilos
set my status to away
block this number
hang up
decline the call
like this post
follow her on twitter
renew my subscription
move the meeting to Thursday
share the file with Anna
grant Bob admin rights
revoke the API key
roll back the release
scale the cluster to five nodes
stop the vm
translate this and send it to Marco
forward the invoice to accounting
rsvp yes to the party
register me for the course
sign me up for yoga
add a stop at the bakery
top up my phone with 20 euros
split the bill with Joe
tip the driver five dollars
i need a ride to work
get me two tickets for Cats
check me in for my flight
i'd like to order a burger
can you reschedule my appointment
would you mute the tv
i want to book a massage
please hold my mail
let john know that i'm running late
create an event for friday
make a reservation for four
"""
CREATIVE = """
Write a poem about the sea
tell me a joke
make up a bedtime story for my son
compose a haiku on winter
Give me a random number between 1 and 10
flip a coin
roll two dice
surprise me
suggest some names for a bakery
brainstorm slogans for our campaign
Write a short story about a robot
写一首诗
讲个笑话
给我编个故事
写一首关于春天的歌词
帮我的猫取个名字
随机给我一个数字
写一段广告文案
"""
GENERAL = """
How do I reset my password?
Can I change my PIN?
Why was my card declined?
How long does a transfer take?
How can I cancel my order?
Where do I find my invoices?
What happens if I miss a payment?
What is a credit score?
Do you charge a fee for withdrawals abroad?
I want to change my billing address
I need to report a lost card
I'd like to close my account
My card was stolen yesterday, what should I do?
I was charged twice for one purchase this morning
My transfer from last week is still pending. Why?
Can I get a refund after 30 days?
Should I update my BIOS?
How many vacation days does an employee get by law?
What is the limit for cash withdrawals?
what documents do I need to open an account
How do I write a cover letter?
Who wrote the poem The Waste Land?
What is a haiku?
What does 'today' mean in SQL?
Is USA Today a daily newspaper?
Who directed Tomorrow Never Dies?
SELECT * FROM orders ORDER BY created_at
for x in my_list: print(x)
What does my_list.sort() return?
How do I get today's date in Python?
def today(): return date.today()
Convert the current directory to a module
Where is the latest version of the docs?
Explain the play Hamlet
Delete duplicate rows in a table
Sort a list of tuples in Python
What is the meaning of personal in 'personal data'?
Translate 'my balance' into Spanish
How does a stock option work?
What causes rain?
Which order did the planets form in?
Cancel culture explained
Who painted The Night Watch?
What is Book of the Dead about?
What is the play store?
Call by value or call by reference?
How do I schedule a cron job?
Set theory basics
What is the capital of Peru?
What is the boiling point of water?
Explain what a volatile variable is in C
How can I check my balance?
Is it possible to change my username?
where can I see my order history
What's the difference between my.cnf and my.ini?
怎么查询我的余额
如何取消订单
怎么修改密码
为什么我的卡被拒了
退款一般多久到账
忘记密码怎么办
可以修改收货地址吗
什么是信用分
如何写一首诗
《明天会更好》是谁唱的
《今日说法》是什么节目
诗经是什么时候成书的
天津的面积有多大
我想修改账单地址应该怎么做
发票可以补开吗
公积金提取需要哪些材料
谁写了《静夜思》
长城有多长
水的沸点是多少
怎么用 Python 获取当前时间
红烧肉怎么做
光合作用是什么
企业版和专业版有什么区别
开户需要什么条件
年假有多少天
怎么绑定银行卡
银行卡丢了怎么办
会员有什么权益
什么是年化利率
支持哪些支付方式
快递一般几天到
我可以退货吗
我需要提供什么材料
我的卡被吞了怎么办
为什么我的订单被取消
今日头条是什么公司
苹果公司的创始人是谁
用 Java 写一个单例模式
北京有哪些大学
取消订单会扣手续费吗
订单取消后多久退款
密码需要几位
余额宝是什么
发票怎么开
播放器不支持这个格式
打开文件失败
what is PTO
how much is the membership
when is the deadline for taxes in Germany
what does APR stand for
are deposits insured
is there a minimum balance
do you deliver to Canada
which plan includes SSO
what time do you open
how long is the warranty
who is eligible for a refund
can I have two accounts
do I need a visa for Japan
should I rotate my tires every year
What should I do if I forget my PIN?
I forgot my password
My app keeps crashing
My invoice shows the wrong VAT number
why did my payment fail
my card is not working
what are your opening hours
is my data encrypted
Does the free plan have limits?
what does error 504 mean
Explain call stacks
open source licenses compared
play of light in painting
The order of operations in math
Book recommendations for beginners in statistics
text alignment in CSS
schedule of the French Revolution events
set difference in python
turn radians into degrees
print today in ISO format with JavaScript
order of the planets
cancel button is not shown
Delete key does not work
Send button greyed out
Play Store error 491
What is a good credit score?
What's my.cnf?
self.my_balance is None, why?
SELECT my_col FROM balance
git checkout my-branch fails
current of 5 A through 10 ohm
what is current in physics
who invented the weather balloon
how is the exchange rate calculated
When was the stock market founded?
the latest date per group in SQL
what was the news paper of the 1920s called
Was the weather important on D-Day?
how do I get a refund for my order
how can my team see my calendar
can customers cancel their order
How do companies forecast demand?
What is the story of Hamlet?
Summarize the poem Ozymandias
what is a joke in German
"""
