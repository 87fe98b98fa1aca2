"""Decides which wordings make a request volatile, personal, acting or creative.

One line of a block is one pattern; `<open>` stands for the opening of a request with its
greetings, `<held>` for the things an account or a device holds about its owner.
"""

import re

_OPEN = (
    r"(?:^|[.!?…;:,，。！？]\s*)(?:(?:hi|hello|hey|olly|alexa|ai|ok|okay|so|then|please|pls|kindly|thanks|and|now|just|go ahead and"
    r"|(?:can|could|would|will) (?:you|u)(?: please| kindly)?|i(?:'d| would) like you to|i (?:want|need) you to"
    r"|你好|您好|请|麻烦|麻烦你|帮我|帮忙|给我|替我|为我|你能|能不能|可以|小二|，|,)[\s,!，]*)*"
)
_HELD = (
    r"(?:(?:account )?balances?|transactions?|statements?|bills?|invoices?|orders?|packages?|parcels?|deliver(?:y|ies)|"
    r"shipments?|calendar|schedule|agenda|appointments?|meetings?|salary|pay ?(?:checks?|slips?|day)|wages?|income|earnings|"
    r"(?:credit|spending) limit|credit (?:score|rating)|apr|interest rates?|points|miles|rewards?|pto|benefits|deductible|"
    r"(?:vacation|sick|leave|time off|days? off|holiday)(?: days?| balance| allowance| requests?)?|lists?|to-?do(?: list)?|"
    r"reminders?|alarms?|notifications|emails|mails|inbox|messages|usage|subscriptions?|memberships?|policy (?:number|#)|"
    r"account number|routing number|location|grades?|test results?|bookings?|reservations?|flights?|luggage|tires?|tyres?|fuel|"
    r"gas|tank|mileage|expir\w+|due dates?|debt|portfolio|savings|spending|expenses|health (?:plan|insurance)|payments?)"
)


def _rules(block: str) -> tuple[re.Pattern[str], ...]:
    """One pattern a line."""
    return tuple(
        re.compile(line.strip().replace("<open>", _OPEN).replace("<held>", _HELD), re.I)
        for line in block.strip().splitlines()
    )


HOW_TO = re.compile(
    r"\bhow (?:do|does|can|could|should|would|will|might|to|about)\b(?! (?:much|many|long|old|far)\b)(?! i (?:look|compare|rank)\b)"
    r"|\bhow (?:i|we|you|one|someone) (?:can|could|should|would|do)\b"
    r"|\b(?:what|which)(?:'s| is| are| would be)? (?:the |a )?(?:best |easiest |quickest |right |proper )?(?:way|steps?|process|procedure|method)s?\b"
    r"|\b(?:instructions?|guide|tutorial|steps|directions) (?:for|on|to)\b"
    r"|\bwhere (?:can|do|could|should|would) (?:i|we|you)\b|\bis (?:it|there) (?:possible|a way|any way)\b"
    r"|怎么(?!样)|如何|怎样|咋(?!样)|方法|步骤|在哪里?(?:可以|能|改|修改|设置|看|查)|哪里(?:可以|能)",
    re.I,
)
"""A question how to do something: one answer for all askers."""
WHY = re.compile(r"\bwhy\b|为什么|为何", re.I)
ASKS_ABOUT = re.compile(
    r"^(?:\W*(?:hi|hello|hey|so|ok|and|but)\b\W*)*(?:(?:can|could|may|should|must|shall|do|did|am|will|would) (?:i|we|one|they|he|she)\b|what|why|when|where|who|which|is|are|does|was|were)\b"
    r"|为什么|什么|吗[?？]?$|多久|多少|多长|几天|几个|哪|是否|呢[?？]?$",
    re.I,
)
"""A question about an action, not an order to do it."""
TIMELESS = re.compile(
    r"\b(?:from now on|now that|until now|by now|buy now|in today's world|current (?:account|password|address|director|branch|row|page|value|user|job|employer|element|node|thread|process|object|index))"
    r"|\bwhat (?:does|do) .{1,40} mean\b|当前(?:目录|分支|行|页面|用户|密码|进程|线程)",
    re.I,
)
"""Time words that bind nothing to a moment."""

PATTERNS: dict[str, tuple[re.Pattern[str], ...]] = {
    "volatile": _rules(
        r"""
        \b(?:today|tonight|tomorrow|yesterday)(?:'s)?\b
        \b(?:right now|at the moment|at present|as of now|these days|nowadays|currently|presently)\b
        \b(?:open|closed|available|playing|showing|happening|is it|like|on|here|there|it) now\b|(?<!what )(?<!what\'s )\bnow\W*$
        \b(?:latest|newest|most recent|up[- ]to[- ]date|breaking|live (?:score|price|result|status|traffic)s?|real[- ]?time (?:price|data|traffic|quote)s?)\b
        \bcurrent(?:ly)? (?:\w+ ){0,2}(?:price|cost|weather|temperature|time|date|news|score|standings?|stock|value of|status|events?|population|president|prime minister|ceo|champion|leader|traffic|exchange|song|inflation|unemployment|interest)\w*
        \b(?:this|last|next|past|coming) (?:morning|afternoon|evening|night|week|weekend|month|quarter|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)(?:'s)?\b
        \b(?:so far|year to date|in the last|in the past|over the last) (?:\w+ )?(?:hours?|days?|weeks?|months?|years?|this)\b
        \bwhat(?:'s| is)? (?:the )?(?:time|day|date)(?: is it| it is)?(?: now| in [\w ]+)?\W*$|\bwhat time is it\b|\b(?:tell|give|check)(?: me)? the (?:time|date)\b
        \bweather\b|\bforecast\b|\b(?:temperature outside|is it (?:raining|snowing|cold|hot|sunny|warm)|(?:will it|is it going to) (?:rain|snow|be))\b
        \b(?:stock|share|bitcoin|gold|oil|gas|petrol|crypto\w*) prices?\b|\bprice of (?:bitcoin|gold|oil|gas)\b
        \b(?:what|how|tell|check|give|show|current|today)\b.{0,30}\b(?:exchange|conversion) rate\b(?! (?:applied|calculated|work))
        \b(?:news|headlines|traffic) (?:about|on|in|for|from|today)\b|\b(?:any|the|me) (?:news|headlines)\b
        \bwho (?:is winning|won (?:the game|last night))\b|\bhow long ago\b
        今天|今日|今晚|今早|今年|明天|明日|后天|昨天|昨日|昨晚|前天|现在|此刻|目前|刚刚|刚才|眼下|当下|如今
        最新|最近(?:的|有|发生|怎么样|一)|近期|实时|即时|本周|这周|这个?星期|下周|上周|本月|这个月|上个?月|下个?月|本季度|去年|明年|这几天
        当前(?:的)?(?:价格|汇率|天气|温度|时间|版本|股价|状态|利率|排名)|天气|气温|股价|股市|汇率|油价|金价|路况|几点了?[?？。]?$|几号[?？。]?$|新闻|头条|热搜
        """
    ),
    "personal": _rules(
        r"""
        \b(?:what|what's|whats|what're|which)\b(?! (?:can|should|could|do|does|happens|if|protocol|kind|way))(?: (?!can\b|should\b|do\b|if\b|happens\b|good\b)[\w']+){0,5} (?:my|our) (?:[\w'&-]+ ){0,4}<held>\b(?! (?:good|used|for|work))
        \b(?:show|tell|give|check|display|list|see|view|read|pull up|bring up|look at|inform|remind)\b(?: me| us)?(?: (?!if\b|why\b|how\b|tricks\b|copy\b|increase\b|improve\b)\w+){0,4} (?:my|our) (?:[\w'&-]+ ){0,4}<held>\b
        \b(?:get|find|know|need|want|check on|pull up) my (?:[\w'&-]+ ){0,3}<held>\b(?! (?:set|set up|changed|reset|sent|back)\b)
        \bhow much\b(?: [\w'-]+){0,6} (?:do|did|have|am|was|is|are|does) (?:i|we|my|our)\b(?! (?:need|have to)\b)|\bhow many\b(?: [\w'-]+){0,5} (?:do|did|have) (?:i|we) (?:have|got|still|already|use|get|earn|spend|owe|take|left)\b
        \bhow (?:much|many)\b(?: [\w'-]+){0,5} (?:i|we) (?:have|owe|make|earn|spent|spend|got)\b|\bhow (?:much|many)\b.{0,40}\bmy (?:[\w'&-]+ ){0,3}<held>\b
        \bwhen(?:'s| is| are| was| were| will| does)? (?:my|our) (?:[\w'&-]+ ){0,3}(?:bill|payment|appointment|flight|meeting|expir\w+|due|pto|vacation|paycheck|rent|subscription|membership|contract|class|shift)\b|\bmy (?:[\w'&-]+ ){0,3}(?:is|are) due\b
        \bwhen (?:do|did|was|will|am|is|can i expect to) i? ?(?:finally |next |last )*(?:get paid|paid|payday|last|next|due)\b|\bpay ?day\b
        \bwhere(?:'s| is| are) my\b(?! (?:nearest|closest)\b)|\bfind my (?:phone|car|keys|device|package|order)\b|\blost my phone\b.{0,20}\bfind\b
        \b(?:do|did|have) (?:i|we) (?:(?:have|got) (?!to\b)(?:any|enough|a|an|the|left|\w+ (?:on|in|for|scheduled|at|left))|(?:already |ever |remember to )?(?:put|add|added|include|included|mark|marked|pay|paid|owe|schedule|spend|spent|last))\b
        \bam i (?:still |currently )?(?:eligible|covered|enrolled|overdrawn|subscribed|registered|signed up|late|behind|on)\b
        \b(?:is|are|has|have|did|does) my\b(?: [\w'-]+){1,4} (?:active|due|approved|valid|expired?|ready|shipped|delivered|arrived|here|scheduled|confirmed|low|okay|ok|good|up|enough)\b
        \b(?:status|balance|whereabouts|amount|details|history) (?:of|on|for) (?:my|the last|account|order|ticket|case|claim)\b(?! (?:a|an)\b)
        \b(?:show|check|what|whats|what's|where|status|balance|track|find|look up|details|tell|give)\b.{0,40}\b(?:account|order|ticket|case|claim|invoice|booking|policy|tracking)(?: number| no\.?| id)?\s*[:#]?\s*\d{3,}
        \b(?:who am i|where am i|where i am|what(?:'s| is) my (?:\w+ )?name|what do you call me|my (?:current |exact )?location|remember about me|know about me|(?:current|present) location\W*$)\b
        \b(?:what(?:'s| is)|name of|know|tell me) (?:the )?(?:this|current|name of (?:the|this)|title of (?:the|this)|song) ?(?:song|track|tune)\b|\bwhat song\b|\bsong is (?:this|playing|on)\b
        (?<!improve )(?<!increase )(?<!raise )(?<!build )(?<!boost )(?<!affect )(?<!change )(?<!decrease )\bmy (?:[\w'-]+ ){0,3}(?:balance|credit limit|payday|pto|apr|tire pressure|policy number|shopping list|to-?do list|days? off request|vacation request|rewards balance)\b(?! (?:not|wrong|hasn|isn|didn))
        ^(?!.*\b(?:improve|increase|raise|build|boost|change|update|edit|modify|pay|lower|fix|correct|cancel|dispute|redeem|use|set up|transfer|add|remove|dropped|declined|affect|hurt|better|wrong|file|claim|proof|error|mistake|good)\b).*\b(?:my|i'm|i am|i have|i got|i've)\b.{0,30}\b(?:balance|bills?|credit (?:score|rating)|credit limit|spending limit|apr|interest rates?|calendar|schedule|agenda|reminders?|(?:shopping|grocery|to-?do) list|pto|vacation|paycheck|salary|income|gas tank|fuel|gas|tires?|tire pressure|rewards|points|transactions?|purchases|policy (?:number|#)|health (?:plan|benefits|insurance)|insurance (?:plan|benefits|coverage)|expir\w+|due)\b
        \b(?:get|need|find|give|tell|what|check|locate|advise|know)\b.{0,40}\b(?:policy (?:number|#)|acct balance|account balance|balance (?:of|on|in) )|\bbalance check\b
        我的?(?:账户|帐户|账号|银行卡|信用卡|会员|手机|话费|流量|公积金|社保|年假)?(?:的)?(?:余额|订单|快递|包裹|账单|积分|额度|工资|薪水|年假|行程|日程|日历|预约|预订|航班|成绩|保单|理赔|位置|信用分|消费记录|交易记录|待办|提醒|闹钟|邮件|消息|会员(?:等级|到期)|还款|清单|列表|购物单)
        我(?:还有|还剩|有|欠|花了|买了|剩)(?:多少|几|没有|什么|哪些|任何)|我在哪|我叫什么|我是谁|我(?:今天|明天|这周|下周)?有(?:什么|哪些|没有|几)(?:会议|安排|约会|日程|提醒|闹钟|待办)
        (?:查询|查看|查一下|查下|看看|看一下)(?:一下)?(?:我|小?[\u4e00-\u9fff]{1,2})的(?:[\u4e00-\u9fff]{0,4})(?:余额|订单|快递|账单|积分|额度|工资|年假|日程|行程|成绩|保单|记录|进度|状态)
        (?:订单|工单|账户|账号|单号|保单|案件)(?:号)?\s*[:：#]?\s*[A-Za-z]*\d{4,}|(?:闹钟|日历|日程|提醒|购物清单|列表)(?:里|上|中)?(?:有|还有)(?:什么|哪些|几|没有)
        """
    ),
    "acting": _rules(
        r"""
        <open>(?:cancel|book|reserve|order|buy|purchase|pay|transfer|send|e?mail|text|call|dial|ring|message|delete|remove|refund|deactivate|freeze|unfreeze|approve|reject|deploy|upload|post|tweet|archive|schedule|reschedule|submit|wire|forward|reply|subscribe me|sign (?:me|us) up|put in)\b (?:me |us |him |her )?(?:my|our|me|us|an? (?!column|row|key|element|node|item|character|duplicate|file|line|substring|prefix|suffix|space)|the (?!column|row|key|element|node|first|last|duplicates?|file|line|substring|index)|this|that|these|those|all|every|\d|it\b|him\b|her\b|them\b|mom|dad|\w+ to \w+)
        <open>(?:update|change|reset|rename|renew|return|report|withdraw|deposit|activate|block|unblock|lock|unlock|restart|record|save|log|track|move|invite|assign|close|open|add|create|set up) (?:my|our|me|us)\b
        <open>(?:go to|play|skip to|jump to|give me) the (?:next|previous) (?:song|track|one)\b|\bnext song\b
        <open>(?:remind|wake|notify|alert|call|text|email) me\b
        <open>(?:set|add|create|make|start|stop|begin|end|put|clear|snooze|turn|switch|raise|lower|increase|decrease|dim|brighten|open|close|play|pause|resume|skip|shuffle|repeat|order|get)\b(?: \w+){0,5} (?:alarm|timer|reminder|appointment|meeting|event|reservation|booking|subscription|order|payment|ticket|call|lights?|lamp|music|song|track|playlist|album|radio|podcast|audiobook|volume|tv|thermostat|heating|ac|calendar|list|taxi|uber|cab|pizza|coffee|vacuum|plug|socket|door|garage|speakers?|brightness|wallpaper)\b
        <open>(?:turn|switch) (?:on|off|up|down)\b
        <open>play (?!a role)\w+
        <open>(?:next|skip|pause|resume|stop|halt|cancel)(?: (?:it|that|this|song|the song|track|please|your))?\W*$
        (?:^|[，。！,.]\s*)(?:你好|您好|请|麻烦你?|帮我|帮忙|给我|替我|为我|小爱同学|然后|再|，|,|\s)*(?:取消|预订|预定|预约|订(?!单|阅号)|发送|发(?:一?[封条个份]|给|微信|邮件|短信|消息)|删除|删掉|移除|转账|转(?:\d|[一二三四五六七八九十百千万]+)|付款|支付|缴费|充值|购买|买|下单|打开|关闭|关掉|开启|播放|放(?:一?首|点|个)|设置?(?:一?个|明|今|早|晚|\d)|提醒我|叫醒我|叫我起床|打电话|呼叫|拨打|添加|加入|创建|新建|暂停|停止|继续播放|调[高低大小亮暗到]|把.{1,12}(?:删|关|打开|调|发|转|取消|改成|设)|退款|退货|重置我|修改我|注销我|冻结|挂失|上传|提交)(?!.{0,12}(?:方法|步骤|流程))
        """
    ),
    "creative": _rules(
        r"""
        \b(?:write|compose|create|make(?: up)?|invent|draft|generate|come up with|give|tell|sing|recite|craft|think of|suggest|read)\b(?: me| us)?(?: \w+){0,5} (?:poems?|stor(?:y|ies)|songs?|haikus?|limericks?|lyrics|jokes?|raps?|sonnets?|riddles?|puns?|fairy ?tales?|slogans?|taglines?|captions?|pick-?up lines?|fun facts?|plots?|characters?|dialogues?|screenplays?|essays?)\b
        \b(?:surprise me|(?:a|any|some|me) random \w+|random (?:number|word|fact|name|quote|color|colour|joke|pick|choice)|randomly (?:pick|choose|select|generate)|roll (?:a|the|some|two) (?:dice|die)|flip a coin|toss a coin|pick (?:a|any) (?:number|card|one)|heads or tails|make me laugh|cheer me up|be creative|something (?:funny|new|different|creative|original)|another (?:joke|story|idea|poem)|(?:make|have) me (?:laugh|giggle)|joke(?:s)? (?:about|please)|knock knock|brainstorm)\b
        \b(?:ideas?|names?|titles?|suggestions) for (?:a|an|my|our|the)\b(?=.{0,60}$)
        (?:写|作|编|创作|来|讲|说|给我讲|念|唱)(?:一|几|\d)?[首个篇段则]?(?:关于.{0,12}的?)?.{0,10}(?:诗|词|故事|笑话|歌(?!词)|歌词|段子|小说|童话|俳句|对联|谜语|绕口令|散文|剧本|口号|文案)
        随机|随便|掷骰子|抛硬币|给我惊喜|逗我|起个?名|取个?名字|头脑风暴|再来一个|有创意
        """
    ),
}
