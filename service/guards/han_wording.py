"""Decides the plain wording of a Chinese text: questions, failures and set phrases in one form each."""

import re
from collections.abc import Callable
from functools import cache

from service.guards.asked import COUNTED
from service.guards.lexicon import chinese as zh

_A_NOT_A = re.compile(r"([\u4e00-\u9fff]{1,2})[不没]\1")
_WHICH_HOUR = re.compile(r"(?<!有)几点钟?(?![建意要])|几号(?![楼线航门厅台馆窗站床柜座仓库])")
_WHICH_DAYS = re.compile(
    r"(?<![这那过前后近没好])(?:几|多少)个?(?:天|分钟|小时|钟头|星期|周|月|年)(?![前后内以之票卡费的报刊])"
)
_RHETORIC = re.compile(r"难道(?:不是|没有|没)?")
"""A question that expects its answer; it asks what the plain one asks."""
_UNABLE = re.compile(zh.UNABLE)
_NO_HAVE = re.compile(
    r"有没有|是不是|能不能|会不会|可不可以|要不要|行不行|好不好|对不对|是否|能否|可否|会否"
)
_EACH = re.compile(
    r"(?<![十百千零二三四五六七八九\d])[一1]个?(月|年|天|周|星期|季度|小时|晚)(?=多少|要多少|价格|的?费|收多少|需要多少|.{0,6}几[次回]|的.{0,4}(?:上限|限额|额度|费|价格|利息|收入))"
)
"""一个月多少钱 asks for the price of each month."""
_AT_WHAT_TIME = re.compile(
    r"(开门|关门|发车|起飞|到达|到站|开始|结束|入住|退房|截止|发售|开售|放票)时间(?:是|为)?(?:什么时候|几点|多少)?"
)
_WHY = re.compile(
    r"怎么(?=还[没不是在]|没|变(?!更)|成了|少了|多了|不(?!显示)|会(?![员议计])|老是|总是|一直|又|这么|那么|[\u4e00-\u9fff]{1,3}不[上了到开出动])"
)
"""怎么还没到 asks why."""
_STAGES = {"线上": "prod", "生产": "prod", "正式": "prod", "测试": "testing", "预发": "staging", "预发布": "staging", "开发": "dev", "沙箱": "sandbox"}  # fmt: skip
_STAGE = re.compile(
    r"(线上|生产|正式|测试|预发布|预发|开发|沙箱)(?:环境)?的?(?=日志|服务器|数据库|库|机器|集群|配置|故障|报警|告警|代码|分支|服务|bug|BUG|节点)"
)
"""What belongs to an environment, the word environment left out (线上日志)."""
_WEEK_OF_DAY = re.compile(r"(这|本|上|下)个?(?:周|星期|礼拜)(?=[一二三四五六日天末])")
_WHICH_NUMBER = re.compile(
    r"(电话|号码|电话号码|手机号|密码|地址|邮箱|编号|单号|账号)(?:是多少|多少|是几)"
)
_WHOLE_WEEKEND = re.compile(r"(?:周|星期|礼拜)六(?:、|和|跟|及|与)?(?:周|星期|礼拜)?[日天]")
_REDUCED = re.compile(r"打(?=[\d一二三四五六七八九.]+折)")
_HOW_MANY = re.compile(rf"多少(?=[{COUNTED}])")
"""多少个 asks as 几个 does."""
_TAKES_HOW_LONG = re.compile("(?<=[要花用得])多长(?!时间|的)")
_SOLD_AT = re.compile(
    r"^(?!.*(?:旧|二手|闲置|废|我|自己|自家))(?P<thing>.*)怎么卖(?=[的呢啊]?[？?。\s]*$)"
)
"""苹果怎么卖 asks for the price, 旧手机怎么卖 for the way."""
_HOURS = re.compile(r"(?:几点|什么时候)(?:能|可以|会)?(营业|开放|上班|上课)(?![到以至前后])")
"""几点营业 asks for 营业时间."""
_CHEAPEST = re.compile(
    r"(?:价格|价钱|价位|收费|费用|票价|售价|单价|房价)最(?P<level>低|高)|最(?:实惠|省钱|划算)|最(?P<bound>低|高)价(?!格)"
)
_PLACES_OF_CITY = re.compile(
    "(?:北京|上海|广州|深圳|成都|西安|杭州|南京|昆明|重庆|武汉|长沙|青岛|哈尔滨|天津|厦门|郑州|沈阳|大连|海口|三亚)"
    "(?=(?:首都|大兴|浦东|虹桥|白云|宝安|双流|天府|咸阳|萧山|禄口|长水|江北|天河|黄花|胶东|太平|滨海|高崎|新郑|桃仙|周水子|美兰|凤凰)(?:国际)?机场)"
)
"""The name of an airport tells its city."""
_SERVER = re.compile("(测试|正式|体验)服(?![务装饰用气从])")
_STAGE_NAMES = re.compile(
    r"(?<![A-Za-z])(?P<stage>test|testing|qa|uat|prod|production|live|pre|preprod|staging|stage|dev|development|sandbox) ?环境",
    re.I,
)
_ALIKE_STAGES = {"test": "testing", "qa": "testing", "uat": "testing", "live": "prod", "production": "prod", "pre": "staging",
                 "preprod": "staging", "stage": "staging", "development": "dev"}  # fmt: skip
_UNDER = re.compile(
    "(?:不满|未满|不足|不到)(?P<amount>[\\d一二两三四五六七八九十百千万]+[\u4e00-\u9fff]{1,2}?)(?=[的可能要需会有是，,？?]|$)"
)
"""不满18岁: under it."""
_FEE_CHARGED = re.compile(
    "(?P<fee>费用?|利息)(?:是)?(?:怎么|如何)(?:收取?|计算?|算|扣)(?=[的呢]?[？?。\\s]*$)"
)
_FROM_HOME = re.compile("(?<=[从到])(?:我)?家(?=[到去来的]|怎么|要|有|多|[？?，,]|$)")
_ALLOWS = re.compile("(?:(?<=怎么)|(?<=如何)|(?<=怎样))允许")
"""怎么允许: what is done, and not what may be."""
_EDIBLE = re.compile("(?<![不可才功性])能(?=[吃喝](?!到))")
_QUARTER = re.compile(r"(?<![A-Za-z])[Qq]([1-4])(?![A-Za-z\d])")
_BOUND_OF = re.compile(r"(?<=[\u4e00-\u9fff\d])(以[下上内外])的")
_WITHIN = re.compile("(?<=[天年周])[以之]?内|(?:(?<=个月)|(?<=小时)|(?<=分钟))[以之]?内")
_INSTEAD_OF = re.compile(
    "(?:如果|要是)?没有?(?P<thing>[^，。？?]{1,8}?)(?:的话)?[，,]?(?=(?:可以|能|该|应该)?(?:用|拿)(?:什么|啥)(?:来)?(?:代替|替代))"
)
"""没有黄油用什么代替: instead of butter."""
_AGED = re.compile("(?<=[月岁天周])大(?=的)")
_PERSONS = re.compile(r"(?<=[一二两三四五六七八九十百\d])个人(?![账资信简户])")
"""三个人 and 三人."""
_ENSURES_NOT = re.compile("(?:保证|确保)(?P<what>[^，。？?不没]{1,8}?)(?:不会?|不被)(?!得不)")
"""保证数据不丢: prevent that it is lost."""
_EASY = re.compile("(?P<than>比[^，。？?]{1,8}?更?)好(?=[学走找做写记养洗买办考弄])")
"""比…好学: easier to learn."""
_WHOLE = re.compile("整(?:栋|座|篇|本|张|套|台|间|层|片|条|部|家|份)的?(?=[\u4e00-\u9fff])")
_OVER_ALL = re.compile(
    "(?<![安周])全(?P<whole>公司|小区|校区|项目|团队|部门|集团|平台|网站|仓库|大楼|园区|学校|城市|国家|世界|市|城|省|国|校|班|家|店|楼|村|县|文)(?![新职程际面])"
)
_WHOLES = {
    "市": "城市",
    "城": "城市",
    "国": "国家",
    "校": "学校",
    "文": "文章",
    "班": "班级",
    "家": "家庭",
}
_HOW_OLD = re.compile(r"几岁|多少岁")
_POOR = re.compile(r"不好(?=怎么|怎样|如何|的|了|吗|[，。,.？?！!]|$)")
_KNOWS_NOT_HOW = re.compile(
    r"(?:^|(?<=[，。,.？?！!我]))(?:不会|不懂|不知道)(?:怎么|如何|怎样)?(?=使?用|操作|设置|弄|安装|开|调|换|填|写|做)(?!.*[吗么][？?]?$)"
)
_WONDERS = re.compile(
    r"(?:有没有人|有人|有谁|谁|哪位|大家|你们?|您)(?:能|可以|会)?(?:知道|清楚|了解|晓得|懂)不?(?=[^，。？?]*(?:怎么|如何|怎样|咋|哪|多少|几|什么|吗))"
    r"|(?:我)?(?:还|也|真的|完全|一直)?(?:不知道|不清楚|不晓得|不懂|搞不懂|弄不懂|不太会|不太清楚|没搞懂|没弄明白|搞不清楚?)(?:该|要|应该)?(?=怎么|如何|怎样|咋|在哪|去哪|哪里)"
)
"""谁知道怎么, 不知道怎么: what is asked is the rest."""
_CANNOT_DO = re.compile(
    rf"(?:^|(?<=[，。,.？?！!我]))(?:不会|不太会|不懂)(?=(?:{'|'.join(sorted(zh.DEEDS))}))(?!.*[吗么][？?]?$)"
)
"""不会安装: asks how; as a question it asks whether something will happen."""
_DENIED = re.compile(
    r"(?:没有?|未能?|不能?|没能)(?:审核|审批|申请)?(?:通过|批准|获批|批下来|批复)(?!率)"
)
"""没通过: was refused."""
_WHICH_ONE = re.compile(r"几号(?=[楼线航门厅台馆窗站床柜座仓库])")
_NOT_MY_DOING = re.compile(r"不是(?:我|本人|我自己)(?:刷|操作|消费|买|下单|转)的")
_ANY_SUCH = re.compile(r"有没有(?=[^，。,]{1,10}的[吗呢]?\s*[？?]?$)")
_WANTED_NO_MORE = re.compile(
    r"我?(?:现在)?(?:不想要|不想用|不再使用|不需要|不想|不要)(?P<thing>[^，。？?不]{0,12})了(?=[^。]*(?:怎么|如何|怎样|咋|哪里|能))"
)
"""不想要…了怎么…: why it is asked, and not what."""
_CHECKED_FOR = re.compile(
    r"(?P<check>检查|校对|看看|看下|看一下|审核|审阅)(?P<what>[^，。？?]{0,8})有(?:没有)?(?:错误|错别字|错字|问题|毛病|语病)"
)
"""检查…有没有错误: what checking is for."""
_HEIGHT = re.compile(
    r"身高(?:是|为|有)?\s?(?P<metres>[12])(?P<rest>\d\d)(?:cm|厘米|公分)?(?!\d)", re.I
)
"""身高180: in metres."""
_FORGOTTEN = re.compile(r"(?:想不起来?|记不(?:得|住|起来?|清楚?)|不记得)了?")
_WRONG = re.compile(r"不对(?![称外公应])|不正确|有误|不合适|不合身")
_SILENT = re.compile(r"(?:没有?|不)(?:出|发)?(?:声音|声)(?!控)")
_CHAT = re.compile(
    r"(?:^|(?<=[，。！,.!]))\s*(?:老师|客服|医生|大夫|同学|师傅|先生|女士|经理|店家|老板|掌柜|大家|各位)?(?:你好|您好|早上好|上午好|下午好|晚上好|早|好的?|好吧|嗯+|哦|噢|收到|明白了?|谢谢|多谢|不错|可以|成|行|知道了|我知道了|记下了|太好了|很好"
    r"|不用了|没事|没关系|麻烦了|打扰了|对了|是的|好呀|好啊|嗨|哈喽)[啊呀呢吧的了]*\s*[，。！,.!]"
)
_LAST_PARTICLE = re.compile(r"(?:没(?:有)?|不)[啊呀呢]?\s*(?=[？?]\s*$|$)")
"""A negation at the very end asks (给推荐一个不？)."""


def _asked(match: re.Match[str]) -> str:
    return {"有": "有", "是": "", "会": "会"}.get(match.group()[0], "可以")


def _stage(match: re.Match[str]) -> str:
    return f"{_STAGES[match[1]]}环境"


def _named_stage(match: re.Match[str]) -> str:
    """The environment by the name that the closed set of them has."""
    stage = match["stage"].lower()
    return f"{_ALIKE_STAGES.get(stage, stage)}环境"


def _over_all(match: re.Match[str]) -> str:
    """全城 as 整个城市."""
    return f"整个{_WHOLES.get(match['whole'], match['whole'])}"


def _dear(match: re.Match[str]) -> str:
    """The superlative of a price as one word."""
    return "最贵" if "高" in (match["level"], match["bound"]) else "最便宜"


def _fails(match: re.Match[str]) -> str:
    return f"{match[1].replace('了', '')}不能"


_RULES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (_CHAT, ""),
    (_CHAT, ""),
    (_LAST_PARTICLE, "吗"),
    (_ANY_SUCH, "有些"),
    (_NO_HAVE, _asked),
    (_WHICH_ONE, "哪个"),
    (_WHICH_HOUR, "什么时候"),
    (_WHICH_DAYS, "多久"),
    (_PLACES_OF_CITY, ""),
    (_SERVER, r"\1服务器"),
    (_STAGE_NAMES, _named_stage),
    (_UNDER, r"\g<amount>以下"),
    (_FEE_CHARGED, r"\g<fee>价格"),
    (_FROM_HOME, " 家庭 "),
    (_INSTEAD_OF, r"\g<thing>"),
    (_ENSURES_NOT, r"防止\g<what>"),
    (_AGED, ""),
    (_PERSONS, "人"),
    (_EASY, r"\g<than>容易"),
    (_ALLOWS, "放行"),
    (_EDIBLE, "可以"),
    (_QUARTER, r"第\1季度"),
    (_BOUND_OF, r"\1 的"),
    (_WITHIN, ""),
    (_WHOLE, "整个"),
    (_OVER_ALL, _over_all),
    (_HOW_OLD, "多大"),
    (_HOW_MANY, "几"),
    (_TAKES_HOW_LONG, "多久"),
    (_SOLD_AT, r"\g<thing>价格"),
    (_HOURS, r"\1时间什么时候"),
    (_CHEAPEST, _dear),
    (_REDUCED, ""),
    (_WHOLE_WEEKEND, "周末"),
    (_WANTED_NO_MORE, r"\g<thing>，"),
    (_SILENT, "没声音"),
    (_HEIGHT, r"身高\g<metres>.\g<rest>米"),
    (_CHECKED_FOR, r"\g<check>\g<what>"),
    (_NOT_MY_DOING, "盗刷"),
    (_DENIED, "被拒"),
    (_FORGOTTEN, "忘记"),
    (_WONDERS, ""),
    (_CANNOT_DO, "怎么"),
    (_POOR, "差"),
    (_KNOWS_NOT_HOW, "怎么"),
    (_WRONG, "错误"),
    (_WHICH_NUMBER, r"\1是什么"),
    (_WEEK_OF_DAY, r"\1周 周"),
    (_WHY, "为什么"),
    (_STAGE, _stage),
    (_EACH, r"每\1"),
    (_AT_WHAT_TIME, r"什么时候\1"),
    (_RHETORIC, ""),
    (_A_NOT_A, r"\1"),
    (_UNABLE, _fails),
)
"""In this order; a rule sees what the ones before it wrote."""


def ask_forms(text: str) -> str:
    """Turn A-not-A questions into plain ones, "登录不了" into a negated verb, set phrases into one form."""
    for rule, plain in _RULES:
        text = rule.sub(plain, text)
    for phrase, written in _phrases():
        if phrase in text:
            text = text.replace(phrase, written)
    return text


@cache
def _phrases() -> list[tuple[str, str]]:
    return sorted(zh.PHRASES.items(), key=lambda pair: -len(pair[0]))
