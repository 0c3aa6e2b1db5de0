import { expect, test } from 'vitest';
import { startLlama } from './llama.ts';

test('startLlama starts a server that requires its key, can be killed and restarts at the same address', async () => {
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
