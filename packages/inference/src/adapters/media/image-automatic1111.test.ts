import { startAutomatic1111Double } from '@millrace/testing';
import { expect, test } from 'vitest';
import { createAutomatic1111Adapter } from './image-automatic1111.ts';
import type { ImageRequest } from './image-adapter.ts';
import { mockPng } from './image-mock.ts';
import { httpSender, deploymentOf, never, plainImageRequest } from './media-adapter.fixture.ts';

// Uses a double that follows the AUTOMATIC1111 sources; the program itself is not installed.

const adapter = createAutomatic1111Adapter();
const deployment = deploymentOf('automatic1111');

const run = (url: string, changes: Partial<ImageRequest> = {}, facts = deployment) =>
  adapter.run(
    { ...plainImageRequest, ...changes },
    { deployment: facts, requestId: 'r' },
    httpSender(url),
    never,
  );

test('AUTOMATIC1111 adapter sends all requested fields and saves no images on the engine', async () => {
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

test('AUTOMATIC1111 adapter drops the contact sheet before the images and the control map after them', async () => {
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

test('AUTOMATIC1111 adapter sends an initial image to img2img', async () => {
  await using double = await startAutomatic1111Double();
  const image = mockPng(64, 64, 1).toString('base64');
  await run(double.url, { initImage: image, strength: 0.3 });
  expect(double.drawn[0]).toMatchObject({
    path: '/sdapi/v1/img2img',
    init_images: [image],
    denoising_strength: 0.3,
  });
});

test('AUTOMATIC1111 adapter authenticates with user name and password', async () => {
  await using double = await startAutomatic1111Double({ auth: 'millrace:pa:ss' });
  const known = { ...deployment, apiKey: 'millrace:pa:ss' };
  await expect(run(double.url, {}, known)).resolves.toMatchObject({ images: [{ seed: 42 }] });
  await expect(run(double.url)).rejects.toMatchObject({ failure: { status: 401, reason: 'UPSTREAM_ERROR' } });
});

test('AUTOMATIC1111 adapter reports an unknown sampler as a client error and an unknown checkpoint as an engine failure', async () => {
  await using double = await startAutomatic1111Double();
  await expect(run(double.url, { sampler: 'Dice' })).rejects.toMatchObject({
    failure: { reason: 'VALIDATION_FAILED', retryable: false },
  });
  const missingModel = { ...deployment, upstreamModel: 'gone.safetensors' };
  await expect(run(double.url, {}, missingModel)).rejects.toMatchObject({
    failure: { status: 500, reason: 'UPSTREAM_ERROR', retryable: true, message: 'The engine failed.' },
  });
});

test('AUTOMATIC1111 adapter interrupts no running image when a client leaves', async () => {
  await using double = await startAutomatic1111Double();
  const leaving = AbortSignal.abort(new Error('the client has left'));
  await expect(
    adapter.run(plainImageRequest, { deployment, requestId: 'r' }, httpSender(double.url), leaving),
  ).rejects.toThrow('the client has left');
  expect(double.interrupts()).toBe(0);
});
