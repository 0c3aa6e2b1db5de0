import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import {
  shellQuoted,
  buildSnippets,
  type SnippetRequest,
} from '../../apps/console/src/features/playground/snippets.ts';

const places = { apiUrl: 'https://api.example.com', inferenceUrl: 'https://models.example.com' };
const nasty = `It's "quoted" $HOME \`id\` \\n\nnext 'line' — 水`;
const requests: readonly SnippetRequest[] = [
  {
    kind: 'chat',
    model: 'acme/chat',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: nasty },
    ],
    temperature: 0.5,
    max_tokens: 200,
  },
  { kind: 'image', model: 'acme/image', prompt: nasty, size: '512x512', n: 2, steps: 30, seed: 7 },
  { kind: 'speech', model: 'acme/speech', input: nasty, voice: 'alloy', speed: 1.5 },
];
const codeOf = (request: SnippetRequest, id: string): string =>
  buildSnippets(request, places).find((snippet) => snippet.id === id)?.code ?? '';

describe.each(requests.map((request) => [request.kind, request] as const))('code for %s', (_, request) => {
  test('names the model and reads the key from the environment', () => {
    for (const { id, code } of buildSnippets(request, places)) {
      expect(code, id).toContain(request.model);
      if (id !== 'cli') expect(code, id).toContain('MILLRACE_API_KEY');
      if (id !== 'cli') expect(code, id).toContain('https://models.example.com');
    }
  });

  test('curl sends the exact input, including special characters', () => {
    const shell = codeOf(request, 'curl').replace(/^curl/, 'printf "%s\\0"');
    const words = execFileSync('sh', ['-c', shell], { env: { MILLRACE_API_KEY: 'k' }, encoding: 'utf8' });
    const body = JSON.parse(words.split('\0').at(-2) ?? '') as Record<string, unknown>;
    expect(body['model']).toBe(request.model);
    expect(JSON.stringify(body)).toContain(JSON.stringify(nasty).slice(1, -1));
    expect(words).toContain('Authorization: Bearer k');
  });

  test('the CLI snippet is one command with the exact input', () => {
    const shell = codeOf(request, 'cli').replace(/^millrace/, 'printf "%s\\0"');
    const words = execFileSync('sh', ['-c', shell], { encoding: 'utf8' }).split('\0');
    expect(words).toContain(nasty);
    expect(words).toContain(request.model);
  });

  test('the JavaScript snippet is valid', () => {
    const input = codeOf(request, 'javascript');
    const checked = execFileSync(process.execPath, ['--check', '--input-type=module', '-'], {
      input,
      encoding: 'utf8',
    });
    expect(checked).toBe('');
    expect(input).toContain("from '@millrace/sdk'");
  });
});

test('the Python snippet writes texts and lists as JSON, and booleans in Python', () => {
  const request: SnippetRequest = {
    kind: 'chat',
    model: 'm',
    messages: [{ role: 'user', content: 'It\'s\n"so"' }],
  };
  expect(codeOf(request, 'python')).toBe(String.raw`import os

from openai import OpenAI

client = OpenAI(
    base_url="https://models.example.com/v1",
    api_key=os.environ["MILLRACE_API_KEY"],
)

stream = client.chat.completions.create(
    model="m",
    messages=[
        {
            "role": "user",
            "content": "It's\n\"so\""
        }
    ],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
`);
});

test('snippets omit empty settings', () => {
  const plain: SnippetRequest = { kind: 'chat', model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
  expect(codeOf(plain, 'curl')).not.toMatch(/temperature|max_tokens/);
  expect(codeOf(plain, 'cli')).toBe('millrace chat Hi --model m');
});

test('shellQuoted produces one shell word', () => {
  expect(shellQuoted('plain-word_1.png')).toBe('plain-word_1.png');
  expect(shellQuoted('')).toBe("''");
  expect(shellQuoted("it's")).toBe(String.raw`'it'\''s'`);
});
