import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';

import { expect, test } from 'vitest';

import { down, ensureUp, killNode, type MediaEndpoints } from './index.ts';
import { createPrivateSite, states } from './private-site.ts';
import { repositoryRoot } from './site.ts';

function post(endpoints: MediaEndpoints | undefined, call: string, body: object, key?: string) {
  if (endpoints === undefined) throw new Error('the engine has no address');
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key ?? endpoints.apiKey}` };
  return fetch(`${endpoints.url}${call}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

test('images and speech: answer requests, are reported dead when killed, and restart with the same key', async () => {
  const place = await createPrivateSite();
  const { images, speech } = await ensureUp(['images', 'speech'], place);
  const picture = { prompt: 'a red circle on a blue background', size: '64x64', num_inference_steps: 2 };
  const drawn = (await (await post(images, '/v1/images/generations', picture)).json()) as {
    data: { b64_json: string }[];
  };
  expect(Buffer.from(drawn.data[0]?.b64_json ?? '', 'base64').toString('latin1', 1, 4)).toBe('PNG');
  expect((await post(images, '/v1/images/generations', picture, 'wrong')).status).toBe(401);
  const audio = await post(speech, '/v1/audio/speech', { input: 'Hello', voice: 'alloy' });
  expect(audio.headers.get('content-type')).toBe('audio/mpeg');
  expect((await audio.arrayBuffer()).byteLength).toBeGreaterThan(1000);

  await killNode('speech', place);
  expect(await states(place)).toMatchObject({ images: 'ready', speech: 'dead' });
  // The key is the same after a restart.
  expect((await ensureUp(['speech'], place)).speech).toEqual(speech);
  expect((await post(speech, '/v1/audio/speech', { input: 'Hello', voice: 'alloy' })).status).toBe(200);
  expect(await down([], place)).toBe(2);
});

test('image model: has the checksum of its model card', () => {
  const folder = path.join(repositoryRoot, 'fixtures', 'models', 'image');
  const card = readFileSync(path.join(folder, 'MODEL_CARD.md'), 'utf8');
  const model = readFileSync(path.join(folder, 't2i.onnx'));
  expect(card).toContain(createHash('sha256').update(model).digest('hex'));
});
