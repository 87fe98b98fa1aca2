"""Closed sets of which a question names one: environments, tiers, periods, languages, systems.

Another member, or a member on one side only, makes another question. One line is one member with
its other names; the first word of a line is what a refusal shows.
"""

from functools import cache

_SETS = {
    "environment": """
production prod
staging stage preprod pre-production pre-prod
development dev
testing qa uat
sandbox
localhost
windows
macos osx mac
linux
ubuntu
debian
android 安卓
ios iphone ipad
""",
    "tier": """
basic
standard
premium
pro professional
plus
enterprise
starter
trial
free-tier
gold
silver
platinum
bronze
annual yearly annually per_year
monthly per_month
weekly per_week
daily per_day
quarterly
hourly per_hour
lifetime
包月
包年
包季
单次
经济型 经济
舒适型 舒适
高档型 高档
豪华型 豪华
标准间
单人间
双人间 双床房 标间
大床房
普卡
金卡
银卡
白金卡
钻石卡
黑卡
普通会员
高级会员
青铜会员
白银会员
黄金会员
铂金会员 白金会员
钻石会员
标准版
基础版
高级版
专业版
企业版
旗舰版
免费版
个人版
家庭版
团队版
试用版 体验版
豪华间
一等座
二等座
商务座
经济舱
商务舱
头等舱
""",
    "language": """
english 英文 英语
german 德语 德文 deutsch
french 法语 法文
spanish 西班牙语
italian 意大利语
portuguese 葡萄牙语
dutch 荷兰语
polish
russian 俄语 俄文
chinese mandarin 中文 汉语
cantonese 粤语
japanese 日语 日文
korean 韩语 韩文
arabic 阿拉伯语
hindi
turkish
swedish
danish
norwegian
finnish
greek
czech
hungarian
thai 泰语
vietnamese 越南语
indonesian
hebrew
latin
python
java
javascript
typescript
golang
rust
kotlin
scala
ruby
php
perl
bash
powershell
haskell
sql
""",
}


@cache
def choices() -> dict[str, tuple[str, str]]:
    """Word to (set, member)."""
    return {
        name: (kind, line.split()[0])
        for kind, block in _SETS.items()
        for line in block.strip().splitlines()
        for name in line.split()
    }
