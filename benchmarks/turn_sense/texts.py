"""The callers' texts: pools from which scenes are drawn. Plain words without punctuation inside.

Commas would make a synthesizer pause where no scene asks for it; the pauses of scenes are drawn (`pausing.py`).
"""

SENTENCES = tuple(
    """\
I would like to book a table for four people on Friday evening
I need to change my flight from Denver to the early one on Monday
Can you check whether my order from last Tuesday has been shipped already
I am calling about the invoice that you sent to my old address
Could you move my appointment with the dentist to sometime next week
I bought a pair of running shoes from your shop and they are too small
We are looking for a hotel near the station with a room for three
My internet has been very slow since the technician was here on Thursday
I want to cancel the subscription that renews at the end of the month
Please tell me how much it costs to send a parcel to Norway
I was wondering if you have this jacket in blue and in a larger size
The washing machine that you delivered makes a loud noise when it spins
I would like to speak with someone about the loan for my house
Can you remind me tomorrow morning to call the school about the trip
My daughter has a fever and I do not know whether we should come in
I forgot the password for my account and the mail never arrives
I need a taxi from the airport to the old town at half past nine
Could you read me the message that came from my sister this morning
The last bill was almost twice as high as the one before
I am trying to find out when the museum opens during the holidays
We would like to rent a car for ten days starting on the third of May
There is a charge on my card from a shop that I have never visited
I ordered two pizzas an hour ago and nobody has come to the door
Can I return the headphones if I have already opened the box
I want to know whether the concert in the park takes place when it rains
My husband left his umbrella on the train to Glasgow yesterday
I need somebody to look at the heating because the kitchen stays cold
Could you send the contract again to the address of my new office
I am looking for a present for a friend who likes to cook
The app tells me that my payment has failed although I have enough money
I would like to renew my library card and borrow the book about whales
Can you find me a recipe with lentils that does not take too long
We have a reservation for tonight but there will be two more of us
My phone fell into the water and now the screen stays black
I want to add my son to the insurance before he starts to drive
Please tell the doctor that I will be about ten minutes late
I am not sure if I should take the train or the bus to the coast
Could you explain what the fee at the bottom of the page is for
I saw a flat on your website that has a balcony and two bedrooms
The parcel was left in front of the wrong door and now it is gone
I would like to know how long the guarantee for the battery lasts
Can you put me through to the person who looks after the garden
I have been waiting for an answer to my letter since the beginning of June
We need a bigger room for the meeting because the whole team is coming
My neighbour says that you also repair bicycles in the winter
I want to move the money from my savings to the other account
Please book me a massage on a day when I can come after work
I am calling because the light on the router has been red all day
Could you tell me if the road over the pass is open again
I have a question about the medicine that the pharmacist gave me
The shirt that I ordered has a hole under the left sleeve
I would like to order the same flowers that I sent to my mother last year
Can you tell me which platform the night train to Vienna leaves from
We want to bring our dog and I read that this is not always allowed
My card was swallowed by the machine outside the supermarket
I need to send the documents to the city before the end of the week
Could you turn down the lights in the living room and close the blinds
I am thinking about a trip to the mountains with a group of students
The tickets that I printed do not show the name of my wife
I want to complain about the driver who did not stop at our corner
Please add milk and bread and something for breakfast to the list
I heard that you are looking for people to help in the kitchen
Can you check what the weather will be like in Lisbon on Sunday
I would like to talk about the offer that you made to us in March
My glasses broke and I need a new pair before I fly on Saturday
We ordered a sofa in grey but the one that came is clearly green
I want to find out how to get from the hotel to the beach without a car
Could you play the song that was on the radio this morning
I need a quote for painting two rooms and a small hallway
The lesson on Wednesday does not work for me because of the exam
I am trying to reach the nurse who called me about the results
Can you book the tennis court for us on Tuesday after six
I have two tickets for the game and I would like to give them back
My son lost his retainer at the pool and we need a new one
I would like to know whether there is parking behind the theatre
Please tell me what I have to bring when I register my car
We were told that the water would be turned off on our street
I want to send a bottle of wine to a customer in Belgium
Could you look up the phone number of the bakery on the square
I am a member but the gate at the gym does not open for me
The dishwasher stops in the middle and then it beeps three times
I need to know if the price includes breakfast for the children
Can you give me the details of the walk along the river
I signed up for the course in pottery but I have not heard anything
My mother would like to visit the castle but she uses a wheelchair
I want to pay the rest of the bill in three parts if that is possible
Could you ask the manager to call me back this afternoon
We are moving to another city and want to take the contract with us
I am looking for a quiet place where I can work for a few hours
The lamp in the bathroom flickers whenever somebody uses the lift
I would like to reserve the small hall for a birthday in October
Can you tell me how many calories there are in a bowl of rice
I think that I left my scarf at your restaurant on Sunday night
My boss wants to know when the report about the survey will be ready
I need a translation of my birth certificate into French
Please find a time when both of us are free for about an hour
I have tried to install the printer but the computer does not see it
Could you tell me the difference between the two kinds of ticket
We would prefer to sit outside if the evening is warm enough
I am calling for my grandfather who does not hear very well
The seat next to mine was broken and I could not sleep at all
I want to learn how to swim and I am already over fifty
Can you send a plumber because there is water under the sink
I would like to exchange the voucher for something with a longer date
My order came without the cable that is shown in the picture
I need to get to the hospital on the other side of the river
Could you set an alarm for the time when the film begins
We have been charged for a parking space that we never used
I am interested in the position that was advertised in the paper
The key to my room does not work and I am standing in the corridor
I want to invite a few colleagues and I am not sure how many will come
Please tell me about the history of the bridge near your office
I would like to start with the soup and then have the fish
Can you explain how I get the money back for the cancelled train
I have an account with you but I have moved since I opened it
My cat has not eaten since yesterday and she hides under the bed
I need an appointment for a haircut before the wedding on Saturday
Could you tell my brother that the key is under the flower pot
We saw that you have a tour in the evening that goes through the caves
I am supposed to get a refund but there is nothing on my account
The second page of the form asks for a number that I do not have
I want to know if you can deliver the table on a Saturday morning
Can you find the article about the eclipse that I read last month
I would like to give the coat to someone who can use it
My train is delayed so I will miss the connection in Cologne
I need a room with a desk and a window that I can open
Please change the name on the booking to the name of my colleague
I was told that the vaccine is free for people who work with animals
Could you help me to write a note to the teacher of my son
We would like to see the house again before we make an offer
I am not happy with the photographs that were taken at the party
The lawn mower starts but after a minute it goes off again
I want to hear the news about the election in Canada
Can you tell me what the word on the red sign means
I have to be at the court at ten and I do not know which entrance to use
My sister gave me a coupon that I can not find in the app
I need a vegetarian menu for about thirty guests
Could you hold the bicycle for me until I am paid on Friday
We lost the small bag with the toys somewhere between the gates
I am writing a book about lighthouses and I would like to visit yours
The battery of my car is dead and I am at the lake
I would like to know who I should talk to about the noise at night
Can you recommend a film that we could watch with our parents
I want to order three bags of soil and a rake
My parents are coming and I would like to show them something special
I need to know how late the ferry runs when the season is over
Please look for a flight with only one stop and a short wait
I bought this radio in your shop about two years ago
Could you tell me where the closest place is to fix a tyre
We want to take the cooking class but only if there are two places left
I am allergic to nuts so I have to ask about the cake
The curtains that we chose are no longer in the catalogue
I would like to put the piano into storage for about half a year
Can you see on your side whether the form has arrived
I need a copy of the letter in which you confirmed the price
My cousin works at the harbour and says that you sell old ropes
I want to plan a route that goes past the windmills
Could you lower the temperature in the bedroom by two degrees
We are a small company and we need help with our taxes
I tried to call the number on the leaflet but nobody answers
The boots are great but the left one squeaks when I walk
I would like to donate some books to the school in our village
""".splitlines()
)
"""Long requests to voice agents; a pause may fall between any two words."""

QUESTIONS = tuple(
    """\
what time is it in Tokyo
how far is it to the airport
when does the next train leave
what is the weather like tomorrow
who won the match last night
how much does it cost
where is the nearest pharmacy
are you open on Sunday
can I pay by card
how do I get there
what is the capital of Peru
do you have a table for two
is there a discount for students
how long does it take
what is your address
when will my order arrive
can you speak a little slower
what did you say
is the museum open today
how old is the bridge
do you deliver to my street
what was the name again
can I bring my dog
which bus goes to the centre
how do you spell that
what is the fastest way home
did anybody call for me
can you help me with my bill
where can I park my car
what is on my calendar today
how warm is it outside
why was my card declined
""".splitlines()
)
"""Complete questions: nothing more is to be expected after them."""

SHORT_ANSWERS = tuple(
    """\
yes
yes please
no thank you
that is right
tomorrow at nine
next Tuesday
two people
the blue one
in the morning
at half past six
yes that works
the second one
just one
by credit card
nothing else
on Friday
in Boston
to London
a window seat
thanks a lot
""".splitlines()
)
"""Complete answers to a question."""

DIGIT_LEADS = ("my number is", "it is", "the number is", "you can reach me at", "", "", "sure it is")
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "oh")

CORRECTIONS = (
    ("could you book it for Tuesday", "no sorry I mean Thursday"),
    ("I would like the large one", "actually make that the small one"),
    ("send it to my office", "no wait send it to my home"),
    ("there will be five of us", "sorry six of us"),
    ("please call me at four", "or rather at half past four"),
    ("I want to fly to Madrid", "I mean to Malaga"),
    ("let us take the red car", "no the white one"),
    ("my name is Martin", "sorry Martens with an s"),
    ("put it on the credit card", "hmm no on the other card"),
    ("I need it on the tenth", "no on the twelfth"),
    ("we arrive in the morning", "well actually around noon"),
    ("order two of them", "wait make it three"),
    ("it was the first of April", "no I mean the first of March"),
    ("play something by Mozart", "or no play some jazz"),
    ("set a timer for ten minutes", "sorry fifteen minutes"),
    ("I live on the second floor", "I mean the third floor"),
    ("turn off the light in the kitchen", "no in the hallway"),
    ("I would like a coffee with milk", "actually with oat milk"),
    ("the meeting is at the main office", "oh no it is at the branch"),
    ("tell Anna that I am late", "sorry tell Hannah"),
)
"""Statements and their corrections: the pause is before the words that announce it, or after them."""
ANNOUNCING = frozenset(("no", "sorry", "i", "mean", "actually", "wait", "or", "rather", "hmm", "oh", "well"))

LIST_LEADS = ("I need", "please put on the list", "could you order", "for the party we need", "please bring")
LIST_ITEMS = (
    *("milk", "two loaves of bread", "a dozen eggs", "some butter", "tomatoes", "a bag of rice", "olive oil", "apples"),
    *("coffee", "three lemons", "paper towels", "a box of tea", "cheese", "onions", "a bottle of wine", "candles"),
)

COMMANDS = (
    *("stop", "wait", "no", "hold on", "stop it", "wait a second", "no no", "stop please", "hang on", "okay stop"),
    *("just a moment", "be quiet"),
)
"""Utterances that take the floor immediately."""
STOP_AND_WAIT = frozenset(("stop", "wait", "stop it", "stop please", "wait a second", "okay stop"))

INTERRUPTIONS = tuple(
    """\
I have another question
what about next week instead
no that is not what I meant
can we talk about something else
I already know all of that
tell me about the other one please
sorry I have to ask you something
that is the wrong address
how much would that cost me
but I wanted to leave in the evening
could you say that again more slowly
actually I changed my mind
is there something cheaper than that
wait I need to find a pen first
no I was asking about the return flight
let me stop you right there
my question was about the price
I do not have that much time
can you skip to the end please
that was last year not this year
""".splitlines()
)
"""Whole sentences that are said into a reply and take the floor."""

BACKCHANNELS = (
    *("yeah", "I see", "right", "okay", "mm-hmm", "uh-huh", "yes", "sure", "got it", "yep", "oh okay", "I see I see"),
    *("great", "good", "yeah yeah", "okay yeah", "all right", "of course", "makes sense", "wow"),
)
"""Agreement while another person speaks; it asks for nothing."""

HESITATIONS = ("um", "uh", "er", "hmm", "ah")

ASIDES = tuple(
    """\
no the keys are on the table
can you close the door please
I will be there in a minute
put it over there next to the lamp
yes darling I am on the phone
did you feed the cat already
not now I am talking to somebody
the red one is in the cupboard
ask your father about that
tell them to come in
just leave it in the hallway
who is at the door
take the dog out for a walk
dinner is in the oven
give me the pen would you
your shoes are under the bench
""".splitlines()
)
"""Words to another person in the room."""

PROMPTS = {
    "digits": ("What is your phone number?", "Could you give me the booking number?", "And the card number, please?"),
    "answer": ("Would you like anything else?", "When would that suit you?", "Which one would you like?"),
    "list": ("What do you need?", "What should I put on the list?"),
}
"""The question at the end of the reply before a scene."""

REPLY = (
    "I have looked that up for you and there are several things that you should know. The first is that it depends "
    "on the day and on the time. Most people choose the morning, since it is quieter then, and it costs a little less. "
    "If you come later you may have to wait, but not for long. There is also a second way, which takes some more time."
)
"""The words of a long reply."""
SHORT_REPLY = "All right, that is done."

PUBLIC_SPEECH = tuple(sentence.lower() for sentence in SENTENCES[::3])
"""The words of other people in the room."""
