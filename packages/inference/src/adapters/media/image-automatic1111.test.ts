import { startAutomatic1111Double } from '@millrace/testing';
import { expect, test } from 'vitest';
import { createAutomatic1111Adapter } from './image-automatic1111.ts';
import type { ImageRequest } from './image-adapter.ts';
import { mockPng } from './image-mock.ts';
import { httpSender, deploymentOf, never, plainImageRequest } from './media-adapter.fixture.ts';

// Against a double of AUTOMATIC1111: the protocol is by its sources, the program is not there.

const adapter = createAutomatic1111Adapter();
const deployment = deploymentOf('automatic1111');

const run = (url: string, changes: Partial<ImageRequest> = {}, facts = deployment) =>
  adapter.run(
    { ...plainImageRequest, ...changes },
    { deployment: facts, requestId: 'r' },
    httpSender(url),
    never,
  );

test('a picture is drawn with all that was asked for, and nothing of it is kept there', async () => {
  await using double = await startAutomatic1111Double();
  const { images } = await run(double.url, {
    negativePrompt: 'people',
    sampler: 'Euler a',
    stylePreset: 'film',
    lora: { 'old mill': 0.7 },
  });
  expect(images).toMatchObject([{ width: 192, height: 128, seed: 42 }]);
  expect(double.drawn).toMatchObject([
    {
      path: '/sdapi/v1/txt2img',
      prompt: 'a mill <lora:old mill:0.7>',
      negative_prompt: 'people',
      width: 192,
      height: 128,
      steps: 30,
      cfg_scale: 5,
      seed: 42,
      sampler_name: 'Euler a',
      styles: ['film'],
      save_images: false,
      override_settings: { sd_model_checkpoint: 'toy.safetensors' },
    },
  ]);
});

test('of several pictures neither the sheet before them nor the map behind them is passed on', async () => {
  await using double = await startAutomatic1111Double();
  const image = mockPng(64, 64, 1).toString('base64');
  const { images } = await run(double.url, { count: 3, controlnet: { name: 'canny', image } });
  expect(images.map(({ width, seed }) => [width, seed])).toEqual([
    [192, 42],
    [192, 43],
    [192, 44],
  ]);
  expect(double.drawn[0]).toMatchObject({
    n_iter: 3,
    alwayson_scripts: { controlnet: { args: [{ enabled: true, model: 'canny', image }] } },
  });
});

test('a first picture is drawn over', async () => {
  await using double = await startAutomatic1111Double();
  const image = mockPng(64, 64, 1).toString('base64');
  await run(double.url, { initImage: image, strength: 0.3 });
  expect(double.drawn[0]).toMatchObject({
    path: '/sdapi/v1/img2img',
    init_images: [image],
    denoising_strength: 0.3,
  });
});

test('its users have a name and a password', async () => {
  await using double = await startAutomatic1111Double({ auth: 'millrace:pa:ss' });
  const known = { ...deployment, apiKey: 'millrace:pa:ss' };
  await expect(run(double.url, {}, known)).resolves.toMatchObject({ images: [{ seed: 42 }] });
  await expect(run(double.url)).rejects.toMatchObject({ failure: { status: 401, reason: 'UPSTREAM_ERROR' } });
});

test('an unknown sampler is the client’s mistake, an unknown checkpoint the operator’s', async () => {
  await using double = await startAutomatic1111Double();
  await expect(run(double.url, { sampler: 'Dice' })).rejects.toMatchObject({
    failure: { reason: 'VALIDATION_FAILED', retryable: false },
  });
  const missingModel = { ...deployment, upstreamModel: 'gone.safetensors' };
  await expect(run(double.url, {}, missingModel)).rejects.toMatchObject({
    failure: { status: 500, reason: 'UPSTREAM_ERROR', retryable: true, message: 'The engine failed.' },
  });
});

test('nobody else’s picture is interrupted when a client leaves', async () => {
  await using double = await startAutomatic1111Double();
  const leaving = AbortSignal.abort(new Error('the client has left'));
  await expect(
    adapter.run(plainImageRequest, { deployment, requestId: 'r' }, httpSender(double.url), leaving),
  ).rejects.toThrow('the client has left');
  expect(double.interrupts()).toBe(0);
});
