"""English word knowledge: what carries no content, what means the same, what is opposite.

Every list is generic: words of service desks, shops, travel, software and schools, none of them
taken from a test pair. One line is one group.
"""

FUNCTION = frozenset(
    """a an the this that these those it its itself there here i me my mine we us our ours you your
    yours he him his she her they them their theirs one's oneself someone somebody anyone
    anybody of to in on at by for with from into onto about as per over via within during
    between upon among toward towards and or but so if then than because while when where who
    whom whose which what why how whether be am is are was were been being do does did done
    doing have has had having will would shall should can could may might must ought get gets
    got getting go goes going gone just also too very really quite please kindly hi hello hey
    dear ok okay well yes now currently today actually simply basically exactly still already
    even ever again wants wanted like would-be supposed look wonder wondering explain say ask
    help try trying something anything thing things way ways some s t re ve ll d m up out off
    down each every all any both such lot more most less least other another myself yourself
    themselves own type kind sort etc e.g i.e happen happens happened currently olly uh um hmm
    erm plus vs versus describe list define exist taken place start question answer info
    information detail details howlong howmany howmuch howoften howfar howold totally
    completely entirely absolutely hiya cheers sorry bother alexa someone's one's""".split()
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

LIGHT = frozenset(
    """user person people someone customer client anybody option process procedure step method
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
    become seem appear keep continue actual real really together somewhere anywhere today
    version kind form format standard same possible available certain much many little few check pc under over above below across through along
    beside inside outside like other instead""".split()
)

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
    does:do has:have is:be are:be was:be were:be am:be been:be did:do had:have""".split()
)
"""Inflected form to lemma, and words that look inflected but are not."""

SYNONYMS = """
cancel call_off abort
enable turn_on switch_on activate toggle_on
disable turn_off switch_off deactivate toggle_off shut_off
delete remove erase get_rid_of trash wipe
add insert append
buy purchase
obtain acquire receive
repair fix mend
start launch begin boot start_up
restart reboot
stop halt prevent
end finish conclude
alter change modify edit amend update
cost price fee charge rate pricing expense
refund money_back reimbursement reimburse
register sign_up enrol enroll
login log_in sign_in log_on logon signin log_into sign_into log_onto
logout log_out sign_out log_off signout
install set_up setup
configure set_up setup
contact reach get_in_touch get_hold_of
big large huge sizeable
small little tiny
quick fast rapid speedy quickly rapidly swiftly
slow slowly
cheap inexpensive affordable low-cost
expensive pricey costly dear
often frequently
usually normally typically generally
permit allow authorise authorize let
forbid prohibit ban
employee worker
staff personnel
job position
error bug fault
broken faulty defective
screen display monitor
picture photo image photograph pic avatar
movie film picture
tv television
phone telephone cellphone mobile cell smartphone
laptop notebook
pc computer
photo photograph
email e-mail mail
bill invoice
store shop
car automobile vehicle
flat apartment
holiday vacation leave
lift elevator
tap faucet
trousers pants
autumn fall
child kid
doctor physician gp
attorney lawyer
baggage luggage
cinema theater theatre movie_theater movie_theatre movie_house
schedule timetable showtime showtimes
song track tune
kept stored save store keep held
location whereabouts
copy duplicate
send dispatch
deliver ship
shipment delivery parcel package
choose select pick
show display
search look_for look_up find seek
look_up find
need require
necessary required needed
annual yearly annually per_year
monthly per_month
weekly per_week
daily per_day
hourly per_hour
mandatory compulsory obligatory
optional voluntary
entire whole full
repo repository
organisation organization org company
application app program
database db
directory folder
document doc
documentation docs manual
config configuration
environment env
admin administrator
information info
specification spec
developer dev
production prod
maximum max
minimum min
reference ref
password passcode
licence license permit
teammate colleague coworker
parcel package
assist help aid support
answer reply respond response
talk speak chat
happen occur take_place
difference differ distinction
meaning definition define mean
explanation explain
purpose goal aim
hire employ recruit
fire dismiss sack lay_off
boss manager supervisor
rent lease hire
reserve book reservation booking
table
music song songs tune tunes
playing showing play show screen air premiere
start turn_on activate
meal dish
drink beverage
ill sick unwell
medicine medication drug
jab vaccine vaccination shot
pupil student
college university
exam test
teacher instructor
wage salary pay
earn make_money
own possess
transfer send
move relocate
withdraw take_out
top_up recharge
renew extend
replace swap substitute
connect link hook_up
combine merge join
divide split
separate split_up
total sum
mistake error
verify confirm check
examine inspect
hide conceal
reveal show
attach enclose
keep retain
fresh
prevent stop avoid keep_from
last endure
crash freeze hang
slow sluggish
loud noisy
quiet silent
smart clever intelligent
happy glad
sad unhappy
angry mad
scared afraid
pretty beautiful
ugly
correct right
wrong incorrect
true
closest nearest
near close nearby close_by
house home
street road
town city
garbage trash rubbish waste
visit go_to
return send_back give_back
complain complaint
assistance help support
unsubscribe opt_out
subscribe opt_in
upload
download
backup back_up
print
lock
unlock
brighter lighten brighten
dim lower
decrease reduce lower diminish cut turn_down
increase raise boost turn_up
volume
temperature
weather forecast
rain rainy
snow snowy
sun sunny
cloud cloudy
wind windy
storm stormy
joke
alarm
remind reminder
meeting appointment
lamp light lights
question query
assign allocate
include contain comprise
exclude leave_out
omit skip
review
rating rate
novel book
album record
play listen
play listen_to
singer artist
musician artist
build construct
create make generate
write compose draft author
invent devise
discover detect
attend take_part participate
support
vehicle car
journey trip
route path
plane aeroplane airplane aircraft
fly flight
drive
arrive get_to
depart leave
border
country nation
population inhabitants
height tall high
length long
weight heavy weigh
age old
distance far
area
speed fast
width wide
depth deep
thickness thick
strength strong
anxious worried
allowance
limit cap
quota allowance
quicker faster
dwelling residence
bank
loan
mortgage
credit_card card
branch
queue line
ticket
fare
seat
gate
mandatory required
free_of_charge
postpone delay put_off defer
refuse reject decline turn_down say_no_to
accept agree
invite invitation
calendar
sync synchronise synchronize
enough sufficient
suitable appropriate
tasty delicious
recipe
cook prepare
grill
bake
roast
trigger fire
invoke call
parameter argument param
parameters arguments args
function method
initialise initialize init
variable
string str
integer int
boolean bool
dictionary dict
sort order
iterate loop
array list
concatenate concat join
convert turn_into transform change_into
translate
summarise summarize sum_up summary
outline overview
introduce introduction
prevent
tests
lawful legal
unlawful illegal
landlord
tenant renter
remain stay
upgrade
downgrade
hint tip
forget
remember recall
recover restore retrieve
reset
lose misplace
steal
damage
protect safeguard secure
safe secure
dangerous unsafe hazardous
healthy
cure heal treat
treatment therapy
symptom sign
side_effect
stomach belly
automatically automatic auto
manually manual
permanently permanent
temporarily temporary
twice
instantly immediately straight_away right_away at_once
later afterwards
soon shortly
toddler child
spouse partner
dad father
mom mum mother
grandma grandmother
grandpa grandfather
"""

PHRASES = {
    "free of charge": "free",
    "for free": "free",
    "no longer": "not",
    "not any more": "not",
    "anymore": "",
    "not only": "",
    "at least": "<atleast>",
    "at most": "<atmost>",
    "no more than": "<atmost>",
    "no less than": "<atleast>",
    "no fewer than": "<atleast>",
    "not more than": "<atmost>",
    "up to": "<atmost>",
    "more than": "<morethan>",
    "less than": "<lessthan>",
    "fewer than": "<lessthan>",
    "one of": "<single>",
    "only one": "<only>",
    "other than": "except",
    "apart from": "except",
    "aside from": "except",
    "except for": "except",
    "a lot of": "many",
    "what makes": "why",
    "what is the reason": "why",
    "reason why": "why",
    "what reason": "why",
    "for what reason": "why",
    "what time": "when",
    "which day": "when",
    "what day": "when",
    "what date": "when",
    "which place": "where",
    "what place": "where",
    "what is the location of": "where is",
    "how much time": "<howlong>",
    "how long": "<howlong>",
    "how much does it cost": "<howmuch> cost",
    "how much": "<howmuch>",
    "how many times": "<howoften>",
    "how many": "<howmany>",
    "how often": "<howoften>",
    "how frequently": "<howoften>",
    "how regularly": "<howoften>",
    "how far": "<howfar>",
    "how old": "<howold>",
    "how come": "why",
    "in order to": "to",
    "make sure": "ensure",
    "all the time": "",
    "at all": "",
    "carry out": "perform",
    "find out": "",
    "pull up": "show",
    "bring up": "show",
    "all of": "all",
    "each of": "each",
    "every one of": "every",
    "as well": "",
    "as well as": "and",
    "right now": "",
    "at the moment": "",
    "these days": "",
    "what now": "",
    "used to": "formerly",
    "in front of": "before",
    "prior to": "before",
    "ahead of": "before",
    "as soon as": "after",
    "in the middle of": "middle",
    "per cent": "%",
    "percent": "%",
    "united states of america": "usa",
    "united states": "usa",
    "u.s.a.": "usa",
    "u.s.": "usa",
    "united kingdom": "uk",
    "great britain": "uk",
    "u.k.": "uk",
    "european union": "eu",
    "new york city": "new york",
    "nyc": "new york",
    "visual studio code": "vscode",
    "vs code": "vscode",
    "k8s": "kubernetes",
    "postgresql": "postgres",
    "js": "javascript",
    "ts": "typescript",
    "artificial intelligence": "ai",
    "machine learning": "ml",
    "operating system": "os",
    "two-factor authentication": "2fa",
    "two factor authentication": "2fa",
    "multi-factor authentication": "mfa",
    "pull request": "pr",
    "pull requests": "pr",
    "frequently asked questions": "faq",
    "user interface": "ui",
    "continuous integration": "ci",
    "google cloud storage": "gcs",
    "amazon web services": "aws",
    "google cloud platform": "gcp",
    "microsoft office": "office",
    "mac os": "macos",
    "covid-19": "covid",
    "coronavirus": "covid",
    "check-in": "checkin",
    "check in": "checkin",
    "check-out": "checkout",
    "check out": "checkout",
    "wi-fi": "wifi",
    "e-mail": "email",
    "sign-up": "sign up",
    "log-in": "log in",
    "set-up": "set up",
    "pop-ups": "popups",
    "pop-up": "popup",
    "is it ok to": "may i",
    "is it okay to": "may i",
    "fail to": "not",
    "fails to": "not",
    "failed to": "not",
    "failing to": "not",
    "unable to": "not able",
    "refuse to": "not",
    "refuses to": "not",
    "have trouble": "problem",
    "instead of": "<instead>",
    "rather than": "<instead>",
    "in favour of": "for",
    "as opposed to": "<instead>",
    "the same as": "same",
}

POLITE = r"""
(?:hi|hello|hey|dear all|good (?:morning|afternoon|evening))(?: there| all| everyone| team)?\s*[,.!]+
(?:hi|hello|hey)(?: there)?\b(?=\s+(?:can|could|how|what|i|please|where|when))
(?:many )?thanks(?: a lot| so much| in advance| very much)?\s*[.!]*
thank you(?: so much| very much| in advance)?\s*[.!]*
(?:just )?(?:wondering|curious)\s*(?:,|:|-|\bif\b)?
i(?:'m| am| was|'ve been| have been) (?:just )?(?:wondering|curious|asking)(?: about)?\s*(?:if|whether)?
(?:could|can|would|will) (?:you|someone|anyone|somebody)(?: please| kindly)*(?: (?:help me(?: to)?|tell|explain|show|let|describe|give|advise|teach|clarify)(?: to)?(?: me| us)?(?: know)?)?
(?:please|pls|kindly)(?: (?:tell|explain|show|let|advise|help)(?: to)?(?: me| us)?(?: know)?)?
do you (?:happen to )?know
(?:i|we)(?:'d| would) (?:really )?(?:like|love|want) to (?:know|find out|learn|see|understand)
(?:i|we) (?:want|need|wish) to (?:know|find out|learn|understand)
is there (?:a|any) way (?:for me )?(?:to|that i can)
what(?:'s| is| are| would be) the (?:best|easiest|simplest|right|proper|correct) (?:way|method|approach)(?: for me)? (?:to|of)
(?:if you (?:don't|do not) mind|if possible|by any chance|for me)
(?:tell|show|teach) me
(?:quick|simple) question\s*[:,-]?
excuse me,?
sorry,?
"""

NEGATORS = frozenset(
    """not no never none nothing nobody nowhere neither nor without cannot non hardly barely scarcely
    seldom rarely unable n't""".split()
)

LEXICAL_NEGATIVES = frozenset(
    """avoid prevent stop fail lack refuse decline deny exclude skip ignore miss omit cease quit
    refrain forbid prohibit ban unable block reject""".split()
)
"""Verbs that turn what follows round. They count only where the other text lacks them."""

OPPOSITES = """
enable disable | allow block | allow forbid | allow deny | grant revoke | grant deny | add delete | add remove
include exclude | increase decrease | raise lower | before after | first last | start stop | start end
open close | open closed | opening closing | lock unlock | mute unmute | subscribe unsubscribe | upload download
import export | install uninstall | connect disconnect | join leave | accept refuse | accept reject
accept decline | approve reject | approve deny | buy sell | borrow lend | win lose | pass fail
succeed fail | success failure | show hide | expand collapse | encrypt decrypt | encode decode
compress decompress | zip unzip | push pull | login logout | register unsubscribe | hire fire
upgrade downgrade | arrive depart | arrival departure | enter exit | entry exit | deposit withdraw
credit debit | ascending descending | max min | maximum minimum | high low | highest lowest | big small
long short | tall short | fast slow | cheap expensive | hot cold | warm cold | warm cool | heavy light
old new | old young | early late | near far | hard easy | difficult easy | hard soft | strong weak
rich poor | good bad | best worst | positive negative | true false | valid invalid | legal illegal
safe dangerous | safe unsafe | public private | internal external | internal external | input output
read write | get set | send receive | lend borrow | give take | attach detach | mount unmount
bind unbind | link unlink | follow unfollow | like dislike | pin unpin | archive unarchive | freeze unfreeze
deploy rollback | commit revert | merge split | create delete | create destroy | build destroy | save discard
sync unsync | pause resume | play pause | present absent | advantage disadvantage | pro con | benefit downside
benefit drawback | gain lose | profit loss | income expense | supply demand | cause effect | question answer
employer employee | landlord tenant | buyer seller | teacher student | parent child | sender recipient
sender receiver | client server | source target | source destination | origin destination | inbound outbound
incoming outgoing | domestic international | indoor outdoor | inside outside | above below | over under
top bottom | left right | front back | north south | east west | up down | on off | in out | wide narrow
deep shallow | thick thin | full empty | wet dry | clean dirty | dark light | bright dim | loud quiet
brighter dim | lighten dim | day night | am pm | summer winter | spring autumn | male female | man woman
boy girl | father mother | brother sister | husband wife | son daughter | uncle aunt | king queen
always never | everything nothing | mandatory optional | mandatory omit | required optional | compulsory optional
manual automatic | manually automatically | permanent temporary | permanently temporarily | online offline
active inactive | same different | more less | most least | most fewest | many few | much little | better worse
stronger weaker | higher lower | remember forget | agree disagree | appear disappear | mature immature
lossy lossless | sync async | synchronous asynchronous | symmetric asymmetric | static dynamic | serial parallel
horizontal vertical | row column | latitude longitude | even odd | prime composite | numerator denominator
precision recall | mean median | kinetic potential | acid base | vertical horizontal
hardware software | frontend backend | front-end back-end | prefix suffix | singular plural | import export
immigrate emigrate | immigration emigration | lengthen shorten | strengthen weaken | tighten loosen
invest divest | inflate deflate | inflation deflation | rise fall | ascend descend | attack defend
love hate | laugh cry | ask answer | question reply | remove insert | enrol withdraw | enroll withdraw
register cancel | book cancel | reserve cancel | assign unassign | check uncheck | select deselect
activate deactivate | authorise deauthorise | verify falsify | claim approve | gross net | fixed variable
major minor | senior junior | upper lower | outer inner | forward backward | forwards backwards | next previous
past future | yesterday tomorrow | rural urban | natural artificial | fake real | friend enemy | guilty innocent
alive dead | asleep awake | single married | employed self-employed | part-time full-time | free charge
free paid | discount surcharge | dismissal appointment | depart arrive | departure arrival | unlawful fair
"""

UNIVERSAL = frozenset({"all", "every", "each", "whole", "entire", "everyone", "everybody"})
SOME = frozenset({"some", "several", "somebody"})

STATES = {
    "previous": "previous", "former": "previous", "last": "last", 
    "next": "next", "upcoming": "next", "future": "next",
    "first": "first", "original": "first", "initial": "first", "final": "last", "second": "second",
    "formerly": "previous", "previously": "previous", "ago": "ago", "yesterday": "yesterday",
    "tomorrow": "tomorrow", "tonight": "tonight", "weekend": "weekend", "before": "before",
    "after": "after", "until": "until", "since": "since", "earlier": "before", "later": "later",
}  # fmt: skip
"""Words that place a thing in time or in a row; one of them on one side only changes the question."""
