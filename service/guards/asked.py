"""Decides which kind of question a Chinese text asks, and which two kinds one answer may serve.

The kind is read off the whole text and not off one word, since a word that asks is often part of a
longer one (多 in 多久 and 多大, 怎么 in 怎么样) or asks for something else beside another (几个, 几点).
"""

import re
from functools import lru_cache

from service.guards.han_politeness import without_thanks

COUNTED = "个人家种名位只条张本台辆间层次回款项页份件座套部门处类道颗瓶袋箱档级步折"
"""Chinese measure words of one character that stand behind 几 and 多少."""
_SPAN = "(?:个)?(?:天|小时|钟头|分钟|工作日|年|月|星期|周)"
_TO_YOU = "(?:请|麻烦)?(?:你|您)?(?:再)?(?:帮|给我|告诉|教|推荐|介绍|替我|说|讲|解释)"
_PLACE_DEED = "(?:维修|修(?![改正订复剪])|买|吃|喝|停车|住|玩|打印|洗|租|领|取|寄|看病|理发|加油|充电|换汇|兑换|拍照|体检|学)"
_SOON_DEED = "(?:到|发|出|审|退|处理|回|送|开通|生效|恢复|完成|更新|收到|好|批|办好|下来|解)"
_RULES: tuple[tuple[str, str], ...] = (
    ("polite", rf"(?:能不能|可不可以|能否|可否|可以|能){_TO_YOU}"),
    ("trouble", "怎么办|咋办|怎么回事|咋回事|什么情况|什么问题|(?:怎么|如何|怎样)(?:处理|解决)"),
    (
        "why",
        "为什么|为何|为啥|什么原因|(?:怎么|咋)(?:还没|没|还不|还是|还在|不(?!同)|又|老是|总是|一直|突然|会[这那]|[这那]么|变(?!更)|成了|少了|多了)"
        "|(?:怎么|咋)[\u4e00-\u9fff]{1,3}不[上了到开出动]",
    ),
    ("long big", "(?:几|多少)个月(?=[能会可才])"),
    ("often", "(?:多久|多长时间|几天)[\u4e00-\u9fff]{0,3}[一1]次|隔(?:多久|几天|多长时间)|多长时间[一1]次|多频繁"),
    ("soon when", rf"(?:多久|多长时间|几天)(?:以?后|之后|内)?(?:才?能够?|才|可以|会){_SOON_DEED}?|(?:多久|多长时间|几天)(?:以?后|之后|内)?{_SOON_DEED}"),
    ("when", "什么时[候间]|何时|几时|啥时候?|几点钟?|几号(?![楼线航门厅台馆窗站床柜座仓库])|哪一?天|几月|星期几|周几|哪一?年|什么日子"),
    ("long", f"多久|多长时间|多少{_SPAN}|(?<![过这那近])几{_SPAN}(?!前|后|内)"),
    ("money how", "怎么卖(?=[的呢啊]?[？?。\\s]*$)"),
    ("money", "(?:费用?|利息)(?:是)?(?:怎么|如何)(?:收取?|计算?|算|扣)(?=[的呢]?[？?。\\s]*$)|(?:怎么|如何)(?:收费|计费|算钱)|多少钱|多少费用|几块钱?|几元|多少元|多少块"),
    ("far", "多远"),
    ("tall", "多高"),
    ("wide", "多宽"),
    ("deep", "多深"),
    ("thick", "多厚"),
    ("heavy", "多重(?!要)"),
    ("fast", "多快"),
    ("length", "多长"),
    ("big", "多大|几岁|多少岁"),
    ("amount", "(?:多少|几)(?:克|斤|公斤|千克|吨|升|毫升|度|米|厘米|公里|平米|平方)"),
    ("count", f"(?:有)?多少[{COUNTED}]|(?<![好这那十和跟过])几[{COUNTED}]|有多少(?!钱)"),
    (
        "place",
        rf"(?:哪里|哪儿|哪(?=能|可以)|什么地方|哪个地方|哪些地方|何处)(?:才?能够?|可以){_PLACE_DEED}|去哪[里儿]?{_PLACE_DEED}",
    ),
    ("doing", "(?:哪里|哪儿|哪(?=能|可以)|[在去到]哪(?![儿里个家种些天款一年边])(?=[\u4e00-\u9fff]{2}|[看查找改设买领办])|什么地方|哪个地方)(?:才?能够?|可以|去|上)?(?=[\u4e00-\u9fff]{2}|[看查找改设买领办])"),
    ("where", "哪里|哪儿|[在去到](?:了)?哪(?![个家种些天款一年])|什么地方|哪个地方|何处|什么位置"),
    ("who", "谁(?![都也])|哪位|什么人|哪个人"),
    ("result", "会(?:怎么?样|如何|咋样|发生什么|出现什么|有(?:什么|啥|哪些)(?:后果|影响|结果))|有(?:什么|啥|哪些)(?:后果|结果)"),
    ("one", "哪(?:家|个|款|种|位|条|件|部|本|台|辆|间|座|所)(?!时[候间]|月|人|地方)"),
    ("count", "(?:便宜|贵|高|低|差|省|涨|降|多|少|快|慢|大|小|重|轻|长|短)(?:了|出)?多少(?!钱|元|块)"),
    ("how what who", "(?:叫|姓)(?:什么|啥)"),
    ("how doing", "(?:怎么|如何|怎样|咋)(?:才?能)?(?:去)?[查找看]"),
    ("how what", "(?:怎么|如何|怎样|咋)(?:说|读|写|念|称呼|叫)"),
    ("way where", "(?:怎么|如何|怎样|咋)(?:走|去|过去|到达)(?=[啊呀呢]?[？?。！!\\s]*$)"),
    ("way how", "(?:怎么|如何|怎样|咋)(?:走|去|到|从)"),
    ("state", "(?:怎么样|(?<![该应要会])怎样|(?<![该应要会])如何|咋样)(?=[啊呀呢了]?[？?。！!\\s]*$)|好不好(?!意)"),
    ("how", "怎么|如何|怎样|咋"),
    ("what", "(?:有|做|干)(?:什么|啥)(?:用|作用|好处|意义)|(?:是|指)(?:个)?(?:什么|啥)(?!样)|(?:什么|啥)(?:叫|是)|(?:什么|啥)意思"),
    ("which", "有(?:什么|哪些|啥)(?!问题|办法|方法|时候|事|意思)"),
    ("thing", "[要需带备交填吃穿](?:什么|啥)(?!时候|时间|用|码|尺|大小|型|号)"),
)  # fmt: skip
"""Read in this order, each on what the ones before it left; a rule may stand for two kinds."""
_READ = tuple((frozenset(kinds.split()), re.compile(rule)) for kinds, rule in _RULES)
_WAYS = "方法|步骤|流程|教程|方式|办法|途径|渠道|攻略|做法|用法"
_NAMES = tuple(
    (frozenset(kinds.split()), rule)
    for kinds, rule in (
        ("", "电话|号码|邮箱|密码|单号|账号|编号|区别|作用|意义|内容|规则|政策|标准"),
        ("terms", "条件|要求|资格|门槛"),
        ("money", "价格|价钱|费用|收费|资费|价位|人均|运费|票价|手续费|金额"),
        ("how", _WAYS),
        ("where", "位置|地址|地点|地方"),
        ("when long soon", "时间"),
        ("when", "日期|日子"),
        ("long soon", "时长|期限|周期"),
        ("count", "数量|人数|个数|次数"),
        ("why", "原因|理由|缘故"),
        ("who", "名字|姓名|人选"),
        ("trouble", "问题|情况|故障"),
    )
)
_NAMED = tuple((kinds, re.compile(rule)) for kinds, rule in _NAMES)
_ENDS_WITH = tuple((kinds, re.compile(rf"(?:{rule})[？?。！!\s]*$")) for kinds, rule in _NAMES)
"""What the thing asked for is called: 地址是什么 asks where, as 在哪里 does."""
_WISHES = re.compile("[我请帮]|想要?(?!象)")
"""A text that wants something done and names no thing to be told (我想改预订日期)."""
_SHORT = 24
"""Characters of a text that asks one thing; a longer one tells of what may be before it asks."""
_WHETHER = re.compile(
    r"[吗嘛][？?。！!\s]*$|(?<!什)么[？?\s]*$|(可以|支持|允许|需要?|[能行要用])[不没]\1|有没有|是否|能否|可否|可不可以"
)
_MAY = re.compile(rf"(?:可以|能|可不可以|允许|能否|可否|支持|支不支持)(?!{_TO_YOU})")
_WHETHER_IT = (
    ("may", _MAY),
    (
        "need",
        re.compile(
            "^(?!.*[钱费])(?:.*(?<![我你您])(?:需要|需不需|必须|要不要|用不用|要)(?!你|您)|.*是否(?!可以|能))"
        ),
    ),
    ("have", re.compile("(?<!没)有(?!.*(?:办法|方法|途径|人|谁|渠道|教程|推荐|的[吗没]))")),
)
"""Whether something may be, must be, or is there."""
_FOR_A_WAY = re.compile("办法|方法|途径|渠道|教程|推荐|人|谁")
"""Whether there is a way, or somebody who knows: asks for the way."""
_ALIKE = frozenset(
    frozenset(pair.split())
    for pair in (
        "trouble how|trouble why|trouble what|trouble may|doing how|doing where|doing what|doing place|place where"
        "|soon long|far length|far where|often count|long length|need may|need trouble|need have|need which|have which|have where|have doing|have place|have who|have count|have may|have money|have trouble|soon fast|doing may"
        "|which what|which how|which where|which who|which when|which long|which money|thing which|thing what|thing how|thing trouble|thing need|thing may|thing where|thing doing|amount big|amount heavy|amount far|amount tall|amount length|amount deep|amount wide|amount count|which trouble|which may|which doing|which place"
        "|one what|one which|one how|one where|one who|one when|one place|one doing|one thing|one may|one have|one need|one state|one trouble|one way|one yes"
        "|terms which|terms what|terms need|terms thing|terms may|terms have|terms who|terms trouble|terms big|terms tall|terms heavy|terms count|terms amount|terms long|terms length|terms when"
        "|yes may|yes need|yes have|yes money|yes long|yes when|yes soon|yes often|yes far|yes tall|yes wide|yes deep|yes thick|yes heavy|yes fast|yes length|yes big|yes amount|yes state|yes trouble|yes result|yes what|yes which|yes thing|yes terms|yes doing|yes place|yes where|yes who|yes way"
        "|result what|result which|result may|result have"
    ).split("|")
)
"""Pairs of kinds that one answer may serve; every kind goes with itself."""


_STARTS = re.compile(
    "(?:几点钟?|什么时[候间]|何时|几时|哪一?天|几号)(?:才|能|可以|会|就)?(?:开始|开(?![到过])|起|上班)|从(?:几点|什么时[候间]|哪一?天|几号)|(?:开始|开门|上班|起始)时间"
)
_ENDS = re.compile(
    "到(?:几点|什么时[候间]|何时|哪一?天|几号)(?!了)|(?:几点钟?|什么时[候间]|何时|几时|哪一?天|几号)(?:才|能|可以|会|就)?(?:结束|关|打烊|下班|截止|停|到期|散)|(?:结束|关门|打烊|下班|截止)时间"
)


def start_or_end(left: str, right: str) -> bool:
    """Whether one Chinese text asks when something begins, and the other when it ends."""
    return {_edge(left), _edge(right)} == {"start", "end"}


@lru_cache(8192)
def _edge(flat: str) -> str:
    """Which end of a span the text asks for; "" where it names none or both."""
    told = [name for name, rule in (("start", _STARTS), ("end", _ENDS)) if rule.search(flat)]
    return told[0] if len(told) == 1 else ""


@lru_cache(8192)
def asked_han(flat: str) -> frozenset[str]:
    """The kinds of question that a Chinese text in normal form asks; empty where the rules know none."""
    found: set[str] = set()
    rest = flat = without_thanks(flat)
    for kinds, rule in _READ:
        rest, times = rule.subn("，", rest)
        if times:
            found |= kinds
    polite = "polite" in found
    found.discard("polite")
    if not found and not polite and _WHETHER.search(flat):
        whether = frozenset(kind for kind, rule in _WHETHER_IT if rule.search(flat))
        plainly = frozenset({"yes"} if not _FOR_A_WAY.search(flat) else ())
        return (whether or plainly) if len(flat) <= _SHORT else frozenset()
    if not found or found == {"what"} or (found <= {"what", "which"} and len(flat) <= _SHORT):
        return _named(rest, frozenset(found))
    return frozenset(found)


def _named(rest: str, found: frozenset[str]) -> frozenset[str]:
    """The kinds that the name of the thing asked for tells; a text that asks nothing must end with it."""
    if not found and _WISHES.search(rest):
        return found
    rules = _NAMED if found else _ENDS_WITH
    named = next((kinds for kinds, rule in rules if rule.search(rest)), found)
    return named if named or "what" in found else found


def another_question(left: str, right: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The kinds that two Chinese texts ask for, where no answer serves both; else None."""
    mine, yours = asked_han(left), asked_han(right)
    if not mine or not yours or mine & yours:
        return None
    if any(frozenset((one, other)) in _ALIKE for one in mine for other in yours):
        return None
    return mine, yours
