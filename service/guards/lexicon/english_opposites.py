"""English words that are opposites, or that a service desk never takes for each other."""

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
active inactive | same different | same unlike | same other | serious playful | new worn | open covert | well ill | more less | most least | most fewest | many few | much little | better worse
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
