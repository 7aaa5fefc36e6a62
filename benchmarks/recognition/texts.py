"""The speakers' texts: written for this benchmark before any measurement, and used for no tuning."""

QUESTIONS = """
What is the weather going to be like in Madrid this weekend?
Will it snow in Toronto on Christmas Eve?
How warm is the sea near Barcelona at this time of year?
Should I take a raincoat to Edinburgh on Thursday?
What is the price of Microsoft shares right now?
Did the markets close higher than yesterday?
How has Tesla done since the beginning of the month?
What are the three most important headlines this morning?
Is there any news about the rail strike in France?
Who won the football game between Germany and Italy?
What is on my calendar for tomorrow afternoon?
Am I free on the ninth of March?
When is my next appointment with the dentist?
Can you move my lunch with Angela to one o'clock?
How many calories are there in a banana?
What is a healthy weight for a man who is six feet tall?
Which side effects does ibuprofen have?
Is it dangerous to mix alcohol and sleeping pills?
What does the word ambiguous mean?
How do you spell necessary?
How far is the moon from the earth?
Who painted the ceiling of the Sistine Chapel?
What is the square root of one hundred and forty four?
How much is fifteen percent of eighty dollars?
How many ounces are in a pound?
When did the Second World War end?
Why do leaves change their color in autumn?
Where can I get a good cup of coffee around here?
Which bus goes to the airport from here?
How long does it take to drive to Philadelphia?
What time does the last train to Oxford leave?
Could you tell me whether the shop is open on Sunday?
Do you know a good recipe for vegetable soup?
What should I cook for six guests?
How long do I have to boil an egg?
Can I freeze fresh mushrooms?
What is the best way to learn a new language?
How do I get red wine out of a carpet?
Why is my computer so slow today?
How can I reset the password of my email account?
What is the difference between a virus and a bacterium?
Who wrote the novel about the white whale?
Which planet has the largest number of moons?
How old is the president of the United States?
Are there any open issues that mention a memory leak?
Who made the last change to the login page?
What did I ask you to remember about the printer?
Have you finished the report that I asked for?
Is anybody in the meeting room at the moment?
What happens if I press the red button?
"""

REQUESTS = """
Remind me to water the plants on Saturday morning.
Set a timer for twenty five minutes.
Wake me up at a quarter to seven, please.
Add eggs, butter and flour to my shopping list.
Put a meeting with the design team on Friday at half past two.
Cancel my appointment with the lawyer.
Please turn off the lights in the living room.
Make it a little warmer in here.
Read me the second story again.
Tell me more about the last one.
Search the web for a cheap hotel in Lisbon.
Find me a flight to Chicago next Tuesday.
Call me a taxi for ten fifteen.
Send an email to Martin and tell him that I agree.
Translate good evening into Japanese.
Explain how a refrigerator works in simple words.
Tell me a joke about doctors.
Give me three ideas for a birthday present.
Compare the two offers and tell me which is cheaper.
Write down that the spare key is under the mat.
Forget what I told you about my old address.
Speak a little more slowly, please.
Say that again, but shorter.
Stop reading and go back to the beginning.
Let me know when the parcel arrives.
Show me the photos from our trip to Norway.
Look up the opening hours of the town hall.
Book a table for two at the Italian restaurant.
Play something quiet while I am working.
Count from one to ten.
Please wait until I have found my glasses.
Give my regards to your brother.
Ask the neighbours whether they have seen our cat.
Check whether the oven is still on.
Order the same pizza as last time.
Hold on, I need to look for a pen.
Start the washing machine when the rate is low.
Tell the driver to wait at the corner.
Summarize the article in two sentences.
Remember that my daughter is allergic to nuts.
"""

STATEMENTS = """
I have been waiting for this letter for three weeks.
The meeting was much longer than anybody expected.
My grandmother used to bake bread every Sunday.
We are planning to paint the kitchen yellow.
It was raining so hard that we could not see the road.
The children went to bed at nine and were asleep by ten.
I do not think that this is a good idea.
She speaks four languages and is learning a fifth.
Our train was late, so we missed the connection.
He left his umbrella in the restaurant again.
The new bridge will be opened in September.
I am afraid that I have lost the receipt.
Nobody told me that the office would be closed.
There is a strange noise coming from the engine.
The soup needs more salt and a bit of pepper.
My phone ran out of battery in the middle of the call.
They moved to the countryside because of the noise.
I prefer tea in the morning and coffee after lunch.
The doctor says that I should walk more often.
You were right about the traffic on the highway.
The library has a large collection of old maps.
We saw two deer at the edge of the forest.
This is the best chocolate cake I have ever eaten.
The package was left with a neighbour on the third floor.
I would rather stay at home this evening.
The elevator has been out of order since Monday.
My brother works as a nurse in a children's hospital.
The exhibition was crowded, but we enjoyed it anyway.
Prices have gone up by almost ten percent.
Yes, that is exactly what I meant.
"""

NAMES_AND_NUMBERS = """
My name is Jonathan Harris and I live in Cleveland.
Please ask for Doctor Patricia Morgan at the front desk.
The author of the book is Margaret Atwood.
Her teacher was called Mister Anderson.
I am meeting Daniel, Sophie and Christopher on Saturday.
We flew from Amsterdam to Singapore by way of Dubai.
The conference takes place in Stockholm this year.
I was born in Minneapolis, but I grew up in Houston.
My office is at two hundred and twelve Baker Street.
The address is forty seven Maple Avenue, apartment nine.
Send it to eighteen Park Road in Cambridge.
She lives at six hundred Washington Boulevard.
Take the second exit and turn left on Pine Street.
My telephone number is five five five, two six eight, nine one four three.
The order number is seven three nine zero four.
The code for the door is eight two six one.
My flight is number three hundred and eighteen.
I was born on the twenty first of April, nineteen eighty five.
The bill came to sixty three dollars and fifty cents.
A kilogram of tomatoes costs two dollars and eighty cents.
The temperature fell to minus twelve degrees.
There were about two thousand people at the concert.
The building is ninety four meters high.
It takes forty minutes on foot and twelve by bicycle.
Page one hundred and thirty seven has the answer.
The train leaves at sixteen twenty from platform four.
My daughter is turning eleven in October.
He ran the marathon in three hours and fifty minutes.
We sold thirty five percent more than last year.
I need seven copies of each and two of the last.
The company was founded in nineteen seventy two.
Room four hundred and five is on the left.
Multiply twenty six by fourteen and subtract nine.
It is five degrees colder than it was on Wednesday.
Chapter twelve begins on page two hundred.
Please transfer eight hundred dollars to Rebecca.
"""

SENTENCES = tuple(
    line for text in (QUESTIONS, REQUESTS, STATEMENTS, NAMES_AND_NUMBERS) for line in text.strip().splitlines()
)
