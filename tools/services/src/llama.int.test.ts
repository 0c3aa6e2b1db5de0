import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { chatModel, down, ensureUp, killNode, type Endpoints } from './index.ts';
import { isPortFree } from './ports.ts';
import { pidOf, createPrivateSite, states } from './private-site.ts';
import { identify } from './processes.ts';

async function send(endpoints: Endpoints, question: string, key?: string): Promise<Response> {
  const { llama } = endpoints;
  if (llama === undefined) throw new Error('no address of llama-server');
  return fetch(`${llama.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key ?? llama.apiKey}` },
    body: JSON.stringify({ messages: [{ role: 'user', content: question }], temperature: 0 }),
  });
}

async function completionOf(endpoints: Endpoints, question: string): Promise<string | undefined> {
  const response = (await (await send(endpoints, question)).json()) as {
    choices: { message: { content: string } }[];
  };
  return response.choices[0]?.message.content;
}

test('llama-server: answers with the test model, is reported dead when killed, restarts, and leaves no process after `down`', async () => {
  const place = await createPrivateSite();
  const endpoints = await ensureUp(['llama'], place);
  expect(await states(place)).toMatchObject({ llama: 'ready' });
  expect(await completionOf(endpoints, 'Hello!')).toBe('Hello! What can I do for you?');
  const oneToHundred = Array.from({ length: 100 }, (_, index) => index + 1).join(', ');
  expect(await completionOf(endpoints, 'Count from 1 to 100.')).toBe(`${oneToHundred}.`);
  expect((await send(endpoints, 'Hello!', 'wrong')).status).toBe(401);

  await killNode('llama', place);
  expect(await states(place)).toMatchObject({ llama: 'dead' });
  // The key is the same after a restart.
  expect((await ensureUp(['llama'], place)).llama).toEqual(endpoints.llama);
  expect(await completionOf(endpoints, 'Hello!')).toBe('Hello! What can I do for you?');

  const pid = await pidOf(place, 'llama');
  expect(await down([], place)).toBe(1);
  expect(identify(pid)).toBeNull();
  expect(await isPortFree(place.portBase + 80)).toBe(true);
});

test('chat model: has the checksum of its model card', () => {
  const card = readFileSync(chatModel.file.replace(/[^/]+$/u, 'MODEL_CARD.md'), 'utf8');
  expect(card).toContain(createHash('sha256').update(readFileSync(chatModel.file)).digest('hex'));
});
