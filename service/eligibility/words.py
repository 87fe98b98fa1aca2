"""Classes of words that the rules are built from. Each is the inside of a regular expression, lower case."""

OWN = r"(?:my|mine|our(?= (?:\w+ ){0,2}(?:meetings?|accounts?|orders?|balance|flights?|reservations?|trip|bills?|schedule|calendar)))"
HELD = (
    r"(?:balances?|transactions?|bills?|invoices?|orders?|packages?|parcels?|deliver(?:y|ies)|shipments?|calendar|schedule|agenda|"
    r"itinerary|appointments?|meetings?|events?|plans?|salary|pay ?(?:checks?|slips?|days?)|wages?|income|earnings|taxes|"
    r"(?:credit|spending|card) limits?|limits?|credit (?:score|rating|report)|scores?|rating|apr|rates?|interest|points|miles|rewards?|pto|"
    r"benefits|deductible|coverage|insurance|vacation|leave|time off|days off|sick days|holidays?|lists?|to-?do|tasks?|chores|"
    r"reminders?|alarms?|timers?|notifications?|e?mails?|inbox|messages|usage|subscriptions?|memberships?|policy|plan|status|"
    r"(?:account|policy|routing|phone|tracking|confirmation) number|location|whereabouts|grades?|results?|bookings?|reservations?|"
    r"flights?|luggage|suitcase|tires?|tyres?|tank|fuel|gas|oil|mileage|pressure|due|expir\w+|debt|portfolio|savings|spending|expenses|"
    r"finances|funds|money|contacts?|name|nickname|address|birthday|phone|keys|car|stocks?|playlists?|tweets?|feed|requests?|"
    r"application|claim|ticket|case|service|inspection|maintenance|check-?up|oil change|purchases?|minimum(?: payment)?)"
)
"""What an account, a device or a household holds about its owner."""
ASKERS = (
    r"(?:(?:account |bank |card |credit card |acct |reward\w* |point\w* )balances?|due dates?|credit (?:score|limit|rating)s?|spending limits?|"
    r"(?:tire|tyre|air) pressure|(?:shopping|grocery|to-?do|task|reminder|packing|wish|contact|shop)s? lists?|to-?dos?|reminders?|calendar|"
    r"agenda|inbox|apr(?!\.? ?\d)|(?:insurance|health) (?:benefits?|plan|coverage)|paychecks?|pay ?days?|pto(?: days)?|(?:leave|sick|vacation) days|missed calls?|voicemails?|balance (?:in|on|of) (?:checking|savings|the|it)|days off|vacation request|(?:gas|fuel) (?:level|tank|gauge)|tank|"
    r"alarms?|e?mails?|contacts|appointments?|meetings?|policy number|acct|upcoming events?|current location|"
    r"rewards? points|reward balance|card'?s? (?:expir\w+|limit|apr)|expiration (?:date|month)s?|transaction history)"
)
"""Values that only exist as somebody's: they need no «my»."""
GENERIC = (
    r"(?:how (?:to|do|can|should|would)|why|what should i do|do i do|to do (?:if|when|about|with)|happens?|happened|wrong|(?:the|what|which) steps?|(?:best|right|any|a|the) ways?|options|mean|means|reasons?|"
    r"causes?|causing|charge[ds]?|fees?|refund\w*|top[- ]?up|transfer\w*|declined?|rejected|"
    r"cancel\w*|verif\w+|identity|exchange rate|pins?|meaning of|purpose|life|tips|mistakes|avoid|ideas|my (?:ai|friend|dear|buddy|man|ability)|ability to|proof|boost\w*|appear\w*|disappear\w*|vanish\w*|(?:is|are|it's|money) gone|passcode|password|disposable|virtual|cash (?:with\w+|deposit)|withdraw\w*|cheque|possible|does it take|long .{1,40} take|children|kids?|have to be|need to be|change my|edit|update my|check deposit|improve|raise|pending|visible|difference|contact|report|fraud\w*|notify|damaged|broke\w*|stolen|extra|[$€£]\d[\d.]*|came from|debit (?:payment|transaction)|direct debit|recogni[sz]e\w*|unknown|new card|(?:replacement|lost|physical) card|card (?:arrives?|come|be (?:sent|delivered))|support\w*|accepted|eligible for this|talking|speaking|get rid|close|hurt\w*|affect\w*|impact\w*|wrongly|not working|doesn't work|activat\w+|safe|secure|limit on top)"
)
"""Words of a question about the rules or a mishap, which a help page answers for every asker."""
REVEAL = (
    r"(?:show|tell|give|check(?: on| out)?|list(?: out| down)?|display|read(?: out| off| back)?|see|view|find(?: out)?|look(?:ing)? (?:up|at|in|into|over|through|for|and see)|"
    r"pull up|bring up|search(?: through)?|state|report (?:on|the|my)|go (?:over|through)|checking|finding|looking for|seeing|viewing|mention|explain|define|get(?: me)?|name|double check|summari[sz]e|sum up|count|measure|test|need|want|review|recite|retrieve|locate|verify|confirm|track(?: down)?|inform|"
    r"know(?: about)?|learn|hear|provide|advise|describe|inquire about|share|fetch|email me|ask about|figure out|determine|let (?:me|us) (?:know|see|check|hear|view))"
)
"""Verbs by which a value is asked for."""
OPENING = (
    r"(?:[\W_]*(?:hi|hello|hey|there|dear|good (?:morning|day|afternoon|evening)|excuse me|yes|yeah|oh|um+|uh+|well|olly|alexa|siri|cortana|google|computer|ai|assistant|"
    r"ok|okay|so|then|please|pls|plz|kindly|thanks|and|but|now|also|just|quickly|if you (?:can|could|would)|go ahead and|"
    r"(?:can|could|would|will|wont|won't|can't|may) (?:you|u|ya)(?: be able to| mind)?|(?:can|could|may) (?:i|we)(?= (?:please )?(?:see|check|view|know|look|review)\b)|are you able to|is it possible (?:for you )?to|"
    r"i(?:'d| would)? (?:really )?(?:like|want|need|wish|prefer)(?: for)? you to|i(?:'m| am) (?:wondering|curious|asking|hoping)(?: if you (?:can|could|would))?|"
    r"i (?:was )?wonder(?:ing)?(?: if you (?:can|could))?|you (?:can|could|should|need to|have to|must)|do me a favor|be sure to|make sure (?:to|you|that you)|"
    r"(?:can you )?help me(?: out)?(?: to| and| with| in)?|help(?: to)?|assist me (?:in|with)|(?:provide|give) me (?:with )?(?:assistance|help) (?:in|with)|(?:get )?(?:assistance|help) (?:in|with)|try (?:to|and)|why don't you|how about you|feel free to|let's|lets|let us|"
    r"i(?:'m| am) (?:trying|looking) to|i(?:'d| would)? (?:like|love|want|need|wish|wanna|gotta)(?: to| ta)?(?! (?:be charged|to be charged|help\b))|i (?:have|got|have got|was hoping|am going) to|(?:i )?(?:wanna|gotta)|"
    r"i(?:'d| would) like)\b)*[\W_]*"
)
"""Greetings, politeness and «I want you to» before the request proper."""
DEVICE = (
    r"(?:lights?|lamps?|lighting|volume|sound|speakers?|music|songs?|tracks?|tunes?|playlists?|albums?|radio|podcasts?|audio ?books?|station|channel|"
    r"tv|television|thermostat|heat(?:ing|er)?|ac|air con\w*|fans?|vacuum(?: cleaner)?|hoover|roomba|robot|plugs?|sockets?|wemo|coffee(?: maker| machine| pot)?|"
    r"kettle|oven|stove|door|garage|blinds|curtains|brightness|bluetooth|wifi|alarms?|timers?|stopwatch|reminders?|appointments?|meetings?|events?|"
    r"calendar|schedule|agenda|reservations?|bookings?|lists?(?! of\b)|to-?do|e-?mails?|messages?|texts?|contacts?|tweets?|taxi|uber|lyft|cab|pizza|takeaway|"
    r"whisper|mode|accent|voice|language|nickname|game|shuffle|repeat|equali[sz]er|bass|screen|phone|iphone|device)"
)
"""Things that an assistant moves, sets or writes into."""
ORDERED = (
    r"(?:restaurant|cafeteria|pub|bar|brasserie|diner|eat|seats?|spot|fast food|food|drink|uber|lyft|taxi|cab|ride|car|rental|flights?|plane|hotel|room|table|reservations?|alarm|timer|wake ?up|reminder|appointment|meeting|event|"
    r"pizza|coffee|takeaway|delivery|day off|days off|vacation|pto|time off|oil change|tune[- ]?up|tire|maintenance|service|music|song)"
)
MODERN_CODE = (
    r"(?:table|column|rows?|key|index|query|string|array|dict\w*|list of|data ?frame|function|method|class|variable|parameter|file|folder|directory|"
    r"element|node|substring|prefix|suffix|character|duplicates?|trigger|procedure|database|schema|script|test|branch|commit|record|json|xml|csv|regex|"
    r"numpy|pandas|matrix|vector|object|field|values?|loop|module|package|server|python|sql|mysql|oracle|java\w*|code|null|tuple|constraint|view|html|url|item)s?"
)
"""Objects of program code: «delete the row» in a title is no order to anyone."""
DEEDS = (
    r"(?:turn|switch|shut|dim|brighten|lower|raise|mute|unmute|silence|quiet|pause|resume|unpause|snooze|shuffle|skip|play|replay|remind|wake|notify|"
    r"alert|call|dial|ring|text|tweet|e?mail|book|reserve|order|schedule|reschedule|cancel|buy|purchase|pay|transfer|wire|send|forward|reply|"
    r"freeze|unfreeze|block|unblock|lock|unlock|vacuum|brew|sync|unsync|connect|disconnect|pair|unpair|link|rate|erase|start|begin|stop|end|"
    r"speak|talk|whisper|sing|quit|exit|leave|disable|enable|activate|deactivate|open|close|put|set|add|include|create|make|new|delete|remove|clear|"
    r"get|change|update|rename|move|invite|save|log|record|mark|adjust|increase|decrease|reduce|bump|crank|amp|jack|boost|max|post|publish|complain|upload|share|submit|apply|request|"
    r"withdraw|deposit|refund|place|arrange|plan|fetch|keep|use|drop|cross|take|hold|check off|rent|hire|run|fix|launch|continue|listen|hear|tune|join|repeat|reset|rewind|archive|approve|reject|deploy|restart|reboot|merge|assign|unsubscribe|upgrade|downgrade)"
)
"""Verbs of a request to do something."""
TIME = (
    r"(?:today|tonight|tomorrow|yesterday|noon|midnight|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|\d{1,2} ?(?:am|pm|a\.? ?m\.?|p\.? ?m\.?)|"
    r"o'?clock|(?:this|next|last) \w+|in (?:an?|\w+) (?:minute|hour|day|week)s?|(?:january|february|march|april|june|july|august|september|october|november|december))"
)

WISHED = r"(?:i(?:'d| would|'m| am)? ?(?:really |just )?(?:like|love|want|need|have|got|wish|looking|trying|wanna|gotta|hoping|going|will|was|must)|help me|help(?: to)?\b|assist)"
"""The request is put as a wish or a plea for help."""
ACCOUNT = (
    r"(?:accounts?|cards?|plans?|policy|policies|insurance|coverage|address\w*|passwords?|pins?|passcode|billing|bills?|payments?|dependents?|claims?|details|information|info|preferences?|questions?|"
    r"checks|checkbooks?|money|funds|orders?|refunds?|transfers?|transactions?|top[- ]?ups?|statement|fraud\w*|currency|cash|cheque|identity|profile|membership|subscription|direct debit|beneficiary|frequency|enrol\w*|"
    r"father|mother|wife|husband|son|daughter|spouse|child|phone number|number|purchase|fees?|changes?|credit score|quote|accident|issue|exchange|savings)"
)
"""What a company's help pages tell how to change."""

HANDLING = (
    r"(?:take|scan|start|navigate|drive|open|close|arm|disarm|raise|run|feed|hang|decline|answer|like|follow|unfollow|grant|revoke|roll back|scale|forward|rsvp|sign|"
    r"add|top up|split|tip|get|put|connect|walk|water|park|ship|deliver|fetch|pick up|drop off|bring|hand|print|install|uninstall|restore|back up|eject|pin|unpin|star|bookmark|"
    r"flag|mark|vote|join|leave|check|hold|renew|redeem|return|unlock|hide|show off|heat|cool|fill|empty|mow|fold|wash|iron|pack|load|unload|clean|collect|confirm|reject|approve|rename|"
    r"share|copy|move|transcribe|record|film|zoom|crop|rotate|plug|unplug|dock|find|launch|quit|shut|lift|dim|swap|replace|ban|kick|invite|promote|demote|suspend|terminate|ping|page|escalate)"
)
"""Verbs of handling a thing, a person or a device."""
