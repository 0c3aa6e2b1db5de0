import { systemClock, type Clock } from '@millrace/platform/clock';
import { eventually, startComfyDouble, type ComfyDouble } from '@millrace/testing';
import { expect, test } from 'vitest';
import { createComfyUiAdapter } from './image-comfyui.ts';
import type { ImageResult, ImageRequest } from './image-adapter.ts';
import { httpSender, deploymentOf, never, plainImageRequest } from './media-adapter.fixture.ts';

// Uses a double that follows the ComfyUI sources; the program itself is not installed.

/** Real, short waits. */
const clock: Clock = {
  ...systemClock,
  sleep: (_ms, signal) => systemClock.sleep(1, signal),
};
const adapter = createComfyUiAdapter(clock);
const deployment = deploymentOf('comfyui');

function run(
  double: ComfyDouble,
  changes: Partial<ImageRequest> = {},
  { signal = never, upstreamModel = 'toy.safetensors' } = {},
): Promise<ImageResult> {
  const facts = { deployment: { ...deployment, upstreamModel }, requestId: 'r' };
  return adapter.run({ ...plainImageRequest, ...changes }, facts, httpSender(double.url), signal);
}

test('ComfyUI adapter queues a graph, polls it, fetches the images and deletes its history', async () => {
  await using double = await startComfyDouble();
  const { images } = await run(double, { count: 2, negativePrompt: 'people', sampler: 'dpmpp_2m' });
  expect(images).toMatchObject([
    { width: 192, height: 128, seed: 42 },
    { width: 192, height: 128, seed: 42 },
  ]);
  expect(images[0]?.base64).not.toBe(images[1]?.base64);
  expect(double.drawn[0]).toMatchObject({
    prompt: { inputs: { text: 'a mill' } },
    'negative-prompt': { inputs: { text: 'people' } },
    sampler: { inputs: { seed: 42, steps: 30, cfg: 5, sampler_name: 'dpmpp_2m' } },
    // Only a temporary file, so that no tenant data stays on the engine's disk.
    pictures: { class_type: 'PreviewImage' },
  });
  await eventually({ what: 'the graph to be deleted from the history' }, () => double.history().length === 0);
});

test('ComfyUI adapter chains LoRAs in order between the checkpoint and its users', async () => {
  await using double = await startComfyDouble();
  await run(double, { lora: { 'mill.safetensors': 0.5, 'water.safetensors': 1 } });
  expect(double.drawn[0]).toMatchObject({
    'lora-0': { inputs: { model: ['checkpoint', 0], lora_name: 'mill.safetensors', strength_model: 0.5 } },
    'lora-1': { inputs: { model: ['lora-0', 0], clip: ['lora-0', 1], lora_name: 'water.safetensors' } },
    prompt: { inputs: { clip: ['lora-1', 1] } },
    sampler: { inputs: { model: ['lora-1', 0] } },
  });
});

test('ComfyUI adapter reports unknown client values as client errors without listing files', async () => {
  await using double = await startComfyDouble();
  await expect(run(double, { sampler: 'dice' })).rejects.toMatchObject({
    failure: { reason: 'VALIDATION_FAILED', message: 'sampler_name: Value not in list.', retryable: false },
  });
  await expect(run(double, { lora: { gone: 1 } })).rejects.toMatchObject({
    failure: { reason: 'VALIDATION_FAILED', message: 'lora_name: Value not in list.' },
  });
  await expect(run(double, {}, { upstreamModel: 'gone' })).rejects.toMatchObject({
    failure: { reason: 'UPSTREAM_ERROR', message: 'The engine cannot run the graph.', retryable: true },
  });
});

test('ComfyUI adapter fails when a graph fails during generation', async () => {
  await using double = await startComfyDouble({ behaviour: 'fail' });
  await expect(run(double)).rejects.toMatchObject({ failure: { reason: 'UPSTREAM_ERROR', retryable: true } });
});

test.each([true, false])(
  'ComfyUI adapter cancels only the graph of the client that left (cancels jobs: %s)',
  async (cancelsJobs) => {
    await using double = await startComfyDouble({ behaviour: 'hold', cancelsJobs });
    const leaving = new AbortController();
    const other = new AbortController();
    const [first, second] = [run(double, {}, leaving), run(double, {}, other)];
    await eventually({ what: 'both are queued' }, () => double.queue().length === 2);
    const [mine] = double.queue();
    leaving.abort(new Error('the client has left'));
    await expect(first).rejects.toThrow('the client has left');
    expect(double.queue()).toHaveLength(1);
    expect(double.cancelled).toEqual(cancelsJobs ? [mine] : []);
    expect(double.interrupts()).toBe(0);
    other.abort();
    await expect(second).rejects.toThrow();
  },
);
