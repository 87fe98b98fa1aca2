"""English words and fixed pairs of words that askers use for the same thing; one line is one group."""

SYNONYMS = """
cancel call_off abort
mt mount
st saint street
dr doctor
prof professor
dept department
univ university
govt government
ave avenue
cons con disadvantage drawback downside
pros pro advantage benefit upside
enable turn_on switch_on activate toggle_on
disable turn_off switch_off deactivate toggle_off shut_off shut_down power_down power_off
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
