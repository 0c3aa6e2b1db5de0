import type { Message } from './chat.ts';

/** What the playground does, as programs do it. The key is never in it: programs take it from their environment. */

export type SnippetRequest =
  | {
      readonly kind: 'chat';
      readonly model: string;
      readonly messages: readonly Message[];
      readonly temperature?: number;
      readonly max_tokens?: number;
    }
  | {
      readonly kind: 'image';
      readonly model: string;
      readonly prompt: string;
      readonly size: string;
      readonly n: number;
      readonly steps: number;
      readonly seed?: number;
    }
  | {
      readonly kind: 'speech';
      readonly model: string;
      readonly input: string;
      readonly voice: string;
      readonly speed?: number;
    };

export interface BaseUrls {
  /** Of the api and of the gateway, without a path. */
  readonly apiUrl: string;
  readonly inferenceUrl: string;
}

export interface Snippet {
  readonly id: string;
  readonly label: string;
  readonly code: string;
}

export function buildSnippets(wish: SnippetRequest, places: BaseUrls): readonly Snippet[] {
  return [
    { id: 'curl', label: 'curl', code: curlSnippet(wish, places) },
    { id: 'python', label: 'Python', code: pythonSnippet(wish, places) },
    { id: 'javascript', label: 'JavaScript', code: javascriptSnippet(wish, places) },
    { id: 'cli', label: 'Command line', code: cliSnippet(wish) },
  ];
}

type Fields = Readonly<Record<string, unknown>>;

/** The body of the request, with the fields that were filled in. */
function requestBody(wish: SnippetRequest): Fields {
  switch (wish.kind) {
    case 'chat': {
      const { kind: _, ...rest } = wish;
      return { ...rest, stream: true };
    }
    case 'image': {
      const { model, prompt, size, n, steps, seed } = wish;
      return { model, prompt, size, n, num_inference_steps: steps, ...(seed !== undefined && { seed }) };
    }
    case 'speech': {
      const { kind: _, ...rest } = wish;
      return rest;
    }
  }
}

const paths = {
  chat: '/v1/chat/completions',
  image: '/v1/images/generations',
  speech: '/v1/audio/speech',
} as const;

/** Between single quotes a shell takes everything as it is, but for the quote itself. */
export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function curlSnippet(wish: SnippetRequest, { inferenceUrl }: BaseUrls): string {
  const body = JSON.stringify(requestBody(wish), null, 2).replaceAll("'", String.raw`'\''`);
  return [
    `curl ${wish.kind === 'chat' ? '-N ' : ''}${shellQuoted(`${inferenceUrl}${paths[wish.kind]}`)} \\`,
    `  -H "Authorization: Bearer $MILLRACE_API_KEY" \\`,
    `  -H 'Content-Type: application/json' \\`,
    ...(wish.kind === 'speech' ? ['  -o speech.mp3 \\'] : []),
    `  -d '${body}'`,
  ].join('\n');
}

const indented = (text: string, by: string): string => text.replaceAll('\n', `\n${by}`);

/** Texts and numbers look the same in JSON and in Python; there is nothing else in a body but `true`. */
const pythonValue = (value: unknown): string =>
  value === true ? 'True' : indented(JSON.stringify(value, null, 4), '    ');

function pythonArguments(fields: Fields): string {
  return Object.entries(fields)
    .map(([name, value]) => `    ${name}=${pythonValue(value)},`)
    .join('\n');
}

function pythonSnippet(wish: SnippetRequest, { inferenceUrl }: BaseUrls): string {
  const client = `client = OpenAI(
    base_url=${JSON.stringify(`${inferenceUrl}/v1`)},
    api_key=os.environ["MILLRACE_API_KEY"],
)`;
  switch (wish.kind) {
    case 'chat':
      return `import os

from openai import OpenAI

${client}

stream = client.chat.completions.create(
${pythonArguments(requestBody(wish))}
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
`;
    case 'image': {
      const { model, prompt, size, n, num_inference_steps, seed } = requestBody(wish);
      const extra = { num_inference_steps, ...(seed !== undefined && { seed }) };
      return `import base64
import os

from openai import OpenAI

${client}

images = client.images.generate(
${pythonArguments({ model, prompt, size, n })}
    extra_body=${indented(JSON.stringify(extra, null, 4), '    ')},
)
for number, image in enumerate(images.data):
    with open(f"image-{number}.png", "wb") as file:
        file.write(base64.b64decode(image.b64_json))
`;
    }
    case 'speech':
      return `import os

from openai import OpenAI

${client}

with client.audio.speech.with_streaming_response.create(
${pythonArguments(requestBody(wish))}
) as response:
    response.stream_to_file("speech.mp3")
`;
  }
}

function javascriptSnippet(wish: SnippetRequest, { apiUrl, inferenceUrl }: BaseUrls): string {
  const body = JSON.stringify(requestBody(wish), null, 2).replaceAll(/^( *)"(\w+)":/gm, '$1$2:');
  const head = (more = ''): string => `${more}import { Millrace } from '@millrace/sdk';

const client = new Millrace({
  baseUrl: ${JSON.stringify(apiUrl)},
  inferenceUrl: ${JSON.stringify(inferenceUrl)},
  apiKey: process.env.MILLRACE_API_KEY,
});
`;
  switch (wish.kind) {
    case 'chat':
      return `${head()}
const stream = client.chat.create(${body});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');
`;
    case 'image':
      return `${head("import { writeFile } from 'node:fs/promises';\n")}
const { data } = await client.images.create(${body});
for (const [number, { b64_json }] of data.entries()) {
  await writeFile(\`image-\${number}.png\`, Buffer.from(b64_json, 'base64'));
}
`;
    case 'speech':
      return `${head("import { writeFile } from 'node:fs/promises';\n")}
const speech = await client.audio.createSpeech(${body});
await writeFile('speech.mp3', speech);
`;
  }
}

function cliSnippet(wish: SnippetRequest): string {
  const flag = (name: string, value: string | number | undefined): string[] =>
    value === undefined ? [] : [`--${name} ${shellQuoted(String(value))}`];
  switch (wish.kind) {
    case 'chat': {
      const system = wish.messages.find(({ role }) => role === 'system')?.content;
      const question = wish.messages.findLast(({ role }) => role === 'user')?.content ?? '';
      return [
        'millrace chat',
        ...(question === '' ? [] : [shellQuoted(question)]),
        ...flag('model', wish.model),
        ...flag('system', system),
        ...flag('temperature', wish.temperature),
        ...flag('max-tokens', wish.max_tokens),
      ].join(' ');
    }
    case 'image':
      return [
        'millrace image',
        shellQuoted(wish.prompt),
        ...flag('model', wish.model),
        ...flag('size', wish.size),
        ...flag('count', wish.n),
        ...flag('steps', wish.steps),
        ...flag('seed', wish.seed),
        '--file image.png',
      ].join(' ');
    case 'speech':
      return [
        'millrace speech',
        shellQuoted(wish.input),
        ...flag('model', wish.model),
        ...flag('voice', wish.voice),
        ...flag('speed', wish.speed),
        '--file speech.mp3',
      ].join(' ');
  }
}
