"""English word knowledge: what carries no content or little, what denies, what places in time."""

FUNCTION = frozenset(
    """er erm ah oh a an the this that these those it its itself there here i me my mine we us our ours you your
    yours he him his she her they them their theirs one's oneself someone somebody anyone
    anybody of to in on at by for with from into onto about as per over via within during
    between upon among toward towards and or but so if then than because while when where who
    whom whose which what why how whether be am is are was were been being do does did done
    doing have has had having will would shall should can could may might must ought get gets
    got getting go goes going gone just also too very really quite please kindly hi hello hey
    dear ok okay well yes now currently actually simply basically exactly still already
    even ever again wants wanted like would-be supposed look wonder wondering explain say ask
    help try trying something anything thing things way ways some s t re ve ll d m up out off
    down each every all any both such lot more most less least other another myself yourself
    themselves own type kind sort etc e.g i.e happen happens happened currently olly uh um hmm
    erm plus vs versus describe list define exist taken place start question answer info
    information detail details howlong howmany howmuch howoften howfar howold totally
    completely entirely absolutely although whereas whenever whoever whichever hers yep nope lemme cuz tho thru btw asap hiya cheers sorry bother
    literally obviously apparently perhaps maybe probably possibly somehow anyway anyhow though however therefore hence thus meanwhile
    furthermore moreover indeed certainly definitely surely clearly precisely specifically particularly especially suddenly
    unfortunately honestly frankly hopefully desperately urgently folks guys mate bro dude sir madam regarding concerning
    whatsoever basically essentially presumably anytime alexa siri someone's one's""".split()
) - frozenset({"define", "start", "work"})

WEAK = frozenset(
    """show give take put make takes made makes making find see know tell come came keep required need needed needs allowed permitted able want use using used let thank""".split()
)
"""Words with a sense of their own (show, hide) that askers exchange freely (show me, give me)."""

RESTRICTIVE = frozenset(
    """joint shared personal business corporate commercial residential family student child adult senior
    junior international domestic foreign online offline public private internal external free paid mobile
    desktop web local remote global national temporary permanent partial full-time part-time self-employed
    expired cancelled canceled deleted archived locked blocked lost stolen damaged used second-hand broken
    late early extra additional replacement backup secondary primary default custom anonymous verified
    unverified manual automatic emergency prepaid overdue upcoming pending draft signed unsigned encrypted
    multiple single bulk express overnight premium vegetarian vegan raw frozen pregnant diabetic disabled
    retired foreign deceased unmarried married""".split()
)
"""Modifiers that narrow what is asked about; one of them on one side only changes the question."""

NARROWING = frozenset(
    """joint corporate commercial temporary permanent replacement disposable private freelance domestic part-time full-time
    self-employed prepaid expired deceased vegetarian vegan pregnant diabetic disabled encrypted wholesale
    second-hand refurbished underage widowed divorced retired unemployed""".split()
)
"""Modifiers of which one on one side only changes the question, however the rest is worded."""

LIGHT = frozenset(
    """serve served upcoming playing showing located offered featured running user person people someone customer client anybody option process procedure step method
    attempt page section area feature function system item case issue problem reason possible
    currently total new existing current specific particular certain general different various
    normal usual regular main full complete properly correctly right good great best nice easy
    easily quick quickly simple simply time amount number name value part bit piece content
    thing idea purpose point data request service website site app application menu screen
    button tab setting settings company business team member guest address account order plan
    whole entire all overall total generally usually typically normally personally directly
    instruction guide guidance tip advice recommendation suggestion example interested looking
    want think believe guess hope sure certain able ready order receive require involve
    contain include exist consider recommend suggest provide offer supply deserve long
    around close called named titled
    else lately soon clarify assist inform manner fashion approach technique trick workaround stuff
    situation scenario related relevant idiomatic pythonic elegant nicely sample dummy
    become seem appear keep continue actual real really together somewhere anywhere
    version kind form format standard same possible available certain much many little few check pc under over above below across through along
    beside inside outside like other instead throughout amid amidst amongst alongside underneath beneath
    aboard atop whilst albeit whereby wherein notwithstanding besides""".split()
)

THINGS = frozenset(
    """account address amount app application button business company customer feature function guest item member menu
    name number option order page plan point question reason request screen section service setting settings site
    system tab team time user website""".split()
)
"""Light words that name things a service has: one in another's place is another question."""

SMALL_DEEDS = frozenset("find use make keep take put show see".split())
"""Verbs of little content that still are another deed where one word is replaced by them."""

MODERN = frozenset(
    """keyword selfie flexbox dropdown popup plugin timestamp hashtag emoji timezone tooltip navbar dataset dataframe codebase
    middleware ebook chatbot cryptocurrency rideshare carsharing trackpad livestream paywall payout timeslot coworking
    limescale powerbank paperless phishing ransomware antivirus webhook namespace serverless microservice docstring
    breakpoint stacktrace onboarding offboarding timesheet gamer multiplayer loadout cooldown framerate overclock
    motherboard bootloader smartwatch carpool hoodie autofill autosave autocomplete autopay upvote downvote livechat""".split()
)
"""Plain words that are younger than the dictionary."""

NAMES_OF_A_KIND = frozenset(
    "city town country clock machine device price cost fee program process area max maximum min minimum".split()
)
"""Nouns that add nothing behind the name of such a thing (the capital city, an alarm clock)."""

DEEDS = frozenset(
    """accept access activate add apply approve archive assign attach authorize book borrow buy call cancel change charge
    clean close commit compare compress configure confirm connect convert copy count create debug delete deliver deploy
    disable discard dispute download draw edit enable end export extend filter format freeze generate hide import insert
    install invite join leave lend link list lock log_in log_out merge migrate mount move mute paste pause pay pin
    play post print publish pull push read receive redeem refund register reject remove rename renew rent repair
    replace request reset resize restart restore resume return reverse revoke rotate save scan schedule sell send
    share sign split start stop store submit subscribe swap switch sync test track transfer translate uninstall unlink
    unlock unmute unsubscribe update upgrade downgrade upload validate verify view withdraw deposit write wash cook boil
    bake freeze plant water mend sharpen paint""".split()
)
"""Verbs of which the synonym lists know the other wordings: two of them in one place are two deeds."""

TIER_NAMES = frozenset(
    "team business individual family group personal company organization developer advanced essential growth lite light hobby community".split()
)
PLAN_NOUNS = frozenset("plan tier subscription edition licence license package membership".split())
"""A word of the first list before one of the second names a tier."""

TROUBLE = frozenset(
    "problem issue trouble error fail failure difficulty stick stuck crash fault broken late delay overdue".split()
)
"""Words that say that something does not work, as a denial does in other words."""

IRREGULAR = dict(
    pair.split(":")
    for pair in """went:go gone:go bought:buy sold:sell sent:send spent:spend paid:pay said:say told:tell
    made:make took:take taken:take gave:give given:give got:get gotten:get found:find lost:lose
    left:leave kept:keep held:hold built:build broke:break broken:break wrote:write written:write
    ran:run began:begin begun:begin chose:choose chosen:choose saw:see seen:see knew:know
    known:know thought:think brought:bring taught:teach caught:catch won:win met:meet led:lead
    read:read spoke:speak spoken:speak drove:drive driven:drive flew:fly flown:fly froze:freeze
    frozen:freeze forgot:forget forgotten:forget hid:hide hidden:hide bit:bite bitten:bite
    ate:eat eaten:eat drank:drink drunk:drink fell:fall fallen:fall felt:feel fought:fight
    grew:grow grown:grow heard:hear hung:hang laid:lay lay:lie lain:lie lent:lend lit:light
    meant:mean rode:ride ridden:ride rose:rise risen:rise sang:sing sung:sing sat:sit slept:sleep
    stole:steal stolen:steal stood:stand stuck:stick struck:strike swam:swim threw:throw
    thrown:throw understood:understand woke:wake wore:wear worn:wear withdrew:withdraw
    withdrawn:withdraw children:child people:person men:man women:woman feet:foot teeth:tooth
    mice:mouse geese:goose knives:knife lives:life wives:wife halves:half leaves:leave
    better:good best:good worse:bad worst:bad further:far furthest:far farther:far farthest:far
    indices:index criteria:criterion matrices:matrix analyses:analysis bases:base data:data
    media:media kubernetes:kubernetes news:news series:series lens:lens gas:gas bus:bus
    status:status access:access address:address process:process class:class pass:pass
    business:business canvas:canvas atlas:atlas analysis:analysis basis:basis bias:bias
    during:during string:string thing:thing spring:spring king:king ring:ring sing:sing
    bring:bring wing:wing evening:evening morning:morning building:building meeting:meeting
    setting:setting settings:setting ceiling:ceiling wedding:wedding hundred:hundred need:need
    feed:feed speed:speed seed:seed bed:bed red:red shed:shed led:led used:use using:use
    less:less lying:lie dying:die tying:tie jeans:jeans glasses:glasses goods:goods
    savings:saving always:always perhaps:perhaps various:various previous:previous
    shown:show showed:show drew:draw drawn:draw blew:blow blown:blow tore:tear torn:tear swore:swear
    sworn:swear shook:shake shaken:shake mistook:mistake mistaken:mistake beaten:beat sank:sink sunk:sink
    shrank:shrink shrunk:shrink sprang:spring sewn:sew proven:prove swept:sweep swollen:swell bent:bend
    bound:bind bred:breed dealt:deal dug:dig fled:flee forgave:forgive forgiven:forgive ground:grind
    knelt:kneel leapt:leap learnt:learn lit:light slid:slide sought:seek spun:spin spilt:spill spread:spread
    stung:sting swung:swing thrust:thrust wept:weep wound:wind burnt:burn dreamt:dream spelt:spell
    overcame:overcome became:become forbidden:forbid forbade:forbid rewritten:rewrite rewrote:rewrite overwritten:overwrite
    overwrote:overwrite withheld:withhold repaid:repay resold:resell rebuilt:rebuild redone:redo redid:redo undone:undo
    undid:undo undertaken:undertake undergone:undergo overtaken:overtake overdrawn:overdraw foreseen:foresee arisen:arise
    arose:arise awoken:awake clung:cling crept:creep flung:fling shone:shine shot:shoot sped:speed strung:string adding:add added:add does:do has:have is:be are:be was:be were:be am:be been:be did:do had:have""".split()
)
"""Inflected form to lemma, and words that look inflected but are not."""

FIRST_NAMES = frozenset(
    """rose mark bill will may june jack frank grace hope faith joy lily daisy ivy ruby pearl amber dawn iris olive violet victor
    grant chase hunter mason carter cooper taylor drew chuck rob sue pat bob nick rich art dale glen cliff clay heath reed robin
    jay rusty sandy penny carol gene herb josh jean max miles chip norm gill ginger heather holly hazel jasmine rosemary sage
    summer autumn april august melody charity patience prudence felicity bliss crystal jade opal""".split()
)
"""First names that are plain words in small letters."""

BRANDS = frozenset(
    """apple windows word excel teams slack chrome safari edge swift go rust ruby oracle amazon shell target
    square stripe notion drive outlook access pages numbers python spark hive unity mercury signal
    discord zoom steam firefox""".split()
)
"""Product names that are plain words in small letters."""

NEGATORS = frozenset(
    """not no never none nothing nobody nowhere neither nor without cannot non hardly barely scarcely
    seldom rarely unable n't""".split()
)

LEXICAL_NEGATIVES = frozenset(
    """avoid prevent stop fail lack refuse decline deny exclude skip ignore miss omit cease quit
    refrain forbid prohibit ban unable block reject""".split()
)
"""Verbs that turn what follows round. They count only where the other text lacks them."""

UNIVERSAL = frozenset(
    {"all", "every", "each", "whole", "entire", "everyone", "everybody", "everything"}
)

SOME = frozenset({"some", "several", "somebody"})

STATES = {
    "previous": "previous", "former": "previous", "last": "last",
    "next": "next", "future": "next",
    "first": "first", "original": "first", "initial": "first", "final": "last", "second": "second",
    "formerly": "previous", "previously": "previous", "ago": "ago", "yesterday": "yesterday",
    "tomorrow": "tomorrow",
    "today": "today",
    "morning": "morning", "weekends": "weekend",
    "afternoon": "afternoon",
    "evening": "evening", "tonight": "tonight", "weekend": "weekend", "before": "before",
    "after": "after", "until": "until", "since": "since", "earlier": "before", "later": "later",
}  # fmt: skip
"""Words that place a thing in time or in a row; one of them on one side only changes the question."""
