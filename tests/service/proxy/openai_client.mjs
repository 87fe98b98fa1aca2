// What the Python tests ask, asked by the npm client: prints one JSON object without ids, times and usage.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "sk-caller", maxRetries: 0 });
const model = "fake-small";
const user = (content) => [{ role: "user", content }];
const tool = {
  type: "function",
  function: {
    name: "get_weather",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};
const found = {};

const whole = await client.chat.completions
  .create({ model, messages: user("npm: whole") })
  .withResponse();
found.whole = whole.data.choices[0].message.content;

found.stream = "";
const stream = await client.chat.completions.create({
  model,
  messages: user("npm: stream"),
  stream: true,
});
for await (const chunk of stream) found.stream += chunk.choices[0]?.delta?.content ?? "";

const called = await client.chat.completions.create({
  model,
  messages: user("npm: use get_weather"),
  tools: [tool],
});
found.tool = called.choices[0].message.tool_calls;

found.response = (await client.responses.create({ model, input: "npm: response" })).output_text;
found.embedding = (
  await client.embeddings.create({ model: "fake-embedding", input: "npm: vector" })
).data[0].embedding;
found.models = (await client.models.list()).data.map((m) => m.id);

try {
  await client.chat.completions.create({ model, messages: [] });
} catch (error) {
  found.error = [error.constructor.name, error.status, error.message];
}

const status = whole.response.headers.get("cache-status");
console.log(JSON.stringify({ found, status }));
