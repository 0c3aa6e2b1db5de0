import { expect, test } from 'vitest';
import { startLlama } from './llama.ts';

test('a server of a test’s own answers by its key, dies on command and comes back at the same address', async () => {
  await using llama = await startLlama({ parallel: 2, cacheRamMib: 0 });
  const send = (): Promise<Response> =>
    fetch(`${llama.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${llama.apiKey}` },
      body: JSON.stringify({
        messages: [{ role: 'user', content: 'What colour is the sky?' }],
        temperature: 0,
      }),
    });
  expect(await (await send()).json()).toMatchObject({
    model: llama.model,
    choices: [{ message: { content: 'The sky is blue.' }, finish_reason: 'stop' }],
  });
  expect((await llama.metrics()).get('llamacpp:requests_processing')).toBe(0);
  await llama.crash();
  await expect(send()).rejects.toThrow('fetch failed');
  await llama.restart();
  expect((await send()).status).toBe(200);
});
