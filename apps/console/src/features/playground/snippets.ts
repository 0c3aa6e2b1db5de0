import type { Message } from './chat.ts';

/** Code snippets for playground requests. They read the key from the environment and never contain it. */

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
  /** Base URLs of api and gateway. */
  readonly apiUrl: string;
  readonly inferenceUrl: string;
}

export interface Snippet {
  readonly id: string;
  readonly label: string;
  readonly code: string;
}

export function buildSnippets(request: SnippetRequest, places: BaseUrls): readonly Snippet[] {
  return [
    { id: 'curl', label: 'curl', code: curlSnippet(request, places) },
    { id: 'python', label: 'Python', code: pythonSnippet(request, places) },
    { id: 'javascript', label: 'JavaScript', code: javascriptSnippet(request, places) },
    { id: 'cli', label: 'CLI', code: cliSnippet(request) },
  ];
}

type Fields = Readonly<Record<string, unknown>>;

/** Request body with the fields that are set. */
function requestBody(request: SnippetRequest): Fields {
  switch (request.kind) {
    case 'chat': {
      const { kind: _, ...rest } = request;
      return { ...rest, stream: true };
    }
    case 'image': {
      const { model, prompt, size, n, steps, seed } = request;
      return { model, prompt, size, n, num_inference_steps: steps, ...(seed !== undefined && { seed }) };
    }
    case 'speech': {
      const { kind: _, ...rest } = request;
      return rest;
    }
  }
}

const paths = {
  chat: '/v1/chat/completions',
  image: '/v1/images/generations',
  speech: '/v1/audio/speech',
} as const;

/** Single quotes keep everything literal except the quote itself. */
export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function curlSnippet(request: SnippetRequest, { inferenceUrl }: BaseUrls): string {
  const body = JSON.stringify(requestBody(request), null, 2).replaceAll("'", String.raw`'\''`);
  return [
    `curl ${request.kind === 'chat' ? '-N ' : ''}${shellQuoted(`${inferenceUrl}${paths[request.kind]}`)} \\`,
    `  -H "Authorization: Bearer $MILLRACE_API_KEY" \\`,
    `  -H 'Content-Type: application/json' \\`,
    ...(request.kind === 'speech' ? ['  -o speech.mp3 \\'] : []),
    `  -d '${body}'`,
  ].join('\n');
}

const indented = (text: string, by: string): string => text.replaceAll('\n', `\n${by}`);

/** JSON is valid Python except for `true`. */
const pythonValue = (value: unknown): string =>
  value === true ? 'True' : indented(JSON.stringify(value, null, 4), '    ');

function pythonArguments(fields: Fields): string {
  return Object.entries(fields)
    .map(([name, value]) => `    ${name}=${pythonValue(value)},`)
    .join('\n');
}

function pythonSnippet(request: SnippetRequest, { inferenceUrl }: BaseUrls): string {
  const client = `client = OpenAI(
    base_url=${JSON.stringify(`${inferenceUrl}/v1`)},
    api_key=os.environ["MILLRACE_API_KEY"],
)`;
  switch (request.kind) {
    case 'chat':
      return `import os

from openai import OpenAI

${client}

stream = client.chat.completions.create(
${pythonArguments(requestBody(request))}
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
`;
    case 'image': {
      const { model, prompt, size, n, num_inference_steps, seed } = requestBody(request);
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
${pythonArguments(requestBody(request))}
) as response:
    response.stream_to_file("speech.mp3")
`;
  }
}

function javascriptSnippet(request: SnippetRequest, { apiUrl, inferenceUrl }: BaseUrls): string {
  const body = JSON.stringify(requestBody(request), null, 2).replaceAll(/^( *)"(\w+)":/gm, '$1$2:');
  const head = (more = ''): string => `${more}import { Millrace } from '@millrace/sdk';

const client = new Millrace({
  baseUrl: ${JSON.stringify(apiUrl)},
  inferenceUrl: ${JSON.stringify(inferenceUrl)},
  apiKey: process.env.MILLRACE_API_KEY,
});
`;
  switch (request.kind) {
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

function cliSnippet(request: SnippetRequest): string {
  const flag = (name: string, value: string | number | undefined): string[] =>
    value === undefined ? [] : [`--${name} ${shellQuoted(String(value))}`];
  switch (request.kind) {
    case 'chat': {
      const system = request.messages.find(({ role }) => role === 'system')?.content;
      const question = request.messages.findLast(({ role }) => role === 'user')?.content ?? '';
      return [
        'millrace chat',
        ...(question === '' ? [] : [shellQuoted(question)]),
        ...flag('model', request.model),
        ...flag('system', system),
        ...flag('temperature', request.temperature),
        ...flag('max-tokens', request.max_tokens),
      ].join(' ');
    }
    case 'image':
      return [
        'millrace image',
        shellQuoted(request.prompt),
        ...flag('model', request.model),
        ...flag('size', request.size),
        ...flag('count', request.n),
        ...flag('steps', request.steps),
        ...flag('seed', request.seed),
        '--file image.png',
      ].join(' ');
    case 'speech':
      return [
        'millrace speech',
        shellQuoted(request.input),
        ...flag('model', request.model),
        ...flag('voice', request.voice),
        ...flag('speed', request.speed),
        '--file speech.mp3',
      ].join(' ');
  }
}
