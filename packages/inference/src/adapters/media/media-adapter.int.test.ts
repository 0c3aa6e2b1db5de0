import { systemClock } from '@millrace/platform/clock';
import { transcribe, startMedia } from '@millrace/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { inflateSync } from 'node:zlib';
import { createMediaOperations } from '../../gateway/media/media-operations.ts';
import type { MediaResponseContext, MediaOperation } from '../../gateway/media/media-operation.ts';
import { httpSender, deploymentOf, never } from './media-adapter.fixture.ts';

// Real engines: a toy diffusion model over the OpenAI images protocol, and flite with LAME over audio/speech. The tests check
// pixels and recognised words.

const operations = createMediaOperations({ clock: systemClock, randomSeed: () => 5 });
const facts: MediaResponseContext = { createdSeconds: 1, elapsedMs: 1 };

const [images, speech] = await Promise.all([startMedia('images'), startMedia('speech')]);

afterAll(() => Promise.all([images, speech].map((engine) => engine[Symbol.asyncDispose]())));

async function serve<Spec, Output>(
  operation: MediaOperation<Spec, Output>,
  engine: 'openai-images' | 'speech',
  body: unknown,
  signal = never,
): Promise<string | Buffer> {
  const { url, apiKey, model } = engine === 'speech' ? speech : images;
  const deployment = deploymentOf(engine, { address: url, apiKey, upstreamModel: model });
  const { request } = operation.read(body);
  const adapter = operation.adapterOf(engine);
  if (adapter === null) throw new Error(`${engine} does not serve ${operation.id}.`);
  const response = await adapter.run(request, { deployment, requestId: 'r' }, httpSender(url), signal);
  return operation.render(request, response, facts).body;
}

describe('images of a real engine', () => {
  const size = { width: 192, height: 128 };
  const request = { model_name: 'pictures', ...size, steps: 8, seed: 3, cfg_scale: 3 };

  async function draw(prompt: string, changes: object = {}): Promise<Buffer> {
    const text = await serve(operations.generateImage, 'openai-images', { ...request, prompt, ...changes });
    const { images: made } = JSON.parse(String(text)) as { images: { image: string }[] };
    return Buffer.from(made[0]?.image ?? '', 'base64');
  }

  test('match prompt and requested size', async () => {
    const [red, green, blue] = colourOf(await draw('a large yellow square on a blue background'), 2, 2);
    expect(blue).toBeGreaterThan(150);
    expect(Math.max(red, green)).toBeLessThan(120);
    const [r, g, b] = colourOf(await draw('a large yellow square on a blue background'), 96, 64);
    expect(Math.min(r, g)).toBeGreaterThan(150);
    expect(b).toBeLessThan(120);
  });

  test('are equal for equal seeds and differ for others', async () => {
    const first = await draw('a red circle on a white background');
    expect(await draw('a red circle on a white background')).toEqual(first);
    expect(await draw('a red circle on a white background', { seed: 4 })).not.toEqual(first);
  });

  test('are returned several at a time in the OpenAI shape', async () => {
    const body = { model: 'pictures', prompt: 'a green ring on a black background', n: 2, size: '128x160' };
    const text = await serve(operations.createImages, 'openai-images', { ...body, num_inference_steps: 4 });
    const { data } = JSON.parse(String(text)) as { data: { b64_json: string }[] };
    const pictures = data.map(({ b64_json: base64 }) => Buffer.from(base64, 'base64'));
    expect(pictures.map((png) => [png.readUInt32BE(16), png.readUInt32BE(20)])).toEqual([
      [128, 160],
      [128, 160],
    ]);
    expect(pictures[0]).not.toEqual(pictures[1]);
  });

  test("are refused with the engine's message for an invalid value", async () => {
    await expect(draw('a mill', { steps: 201 })).rejects.toMatchObject({
      failure: {
        status: 400,
        reason: 'VALIDATION_FAILED',
        retryable: false,
        message: expect.stringContaining('num_inference_steps'),
      },
    });
  });

  test('stop when the client leaves, so that the engine is free', async () => {
    const leaving = new AbortController();
    const body = { ...request, prompt: 'a mill', steps: 200 };
    const drawing = serve(operations.generateImage, 'openai-images', body, leaving.signal);
    leaving.abort(new Error('the client has left'));
    await expect(drawing).rejects.toThrow('the client has left');
    await draw('a red circle on a white background', { steps: 1 });
  });
});

describe('speech of a real engine', () => {
  const vocabulary = [
    'river',
    'garden',
    'seven',
    'yellow',
    'purple',
    'window',
    'three',
    'engine',
    'nine',
    'water',
  ];

  test('is an MP3 in which a recogniser finds the words in order', async () => {
    const words = ['purple', 'window', 'three', 'engine', 'nine', 'water'];
    const body = { text: 'Purple window. Three engine. Nine water.', speaker: 'echo' };
    const text = await serve(operations.generateAudio, 'speech', body);
    const response = JSON.parse(String(text)) as { audio: string; sample_rate: number; usage: number };
    expect(response).toMatchObject({ sample_rate: 16_000, usage: 40 });
    const received = await transcribe(Buffer.from(response.audio, 'base64'), vocabulary);
    expect(received.words).toEqual(words);
  });

  test('is the plain file in the OpenAI shape, and speed shortens it', async () => {
    const body = { model: 'voice', input: 'river garden seven yellow', voice: 'kal' };
    const [slow, fast] = await Promise.all(
      [0.8, 1.6].map((speed) => serve(operations.createSpeech, 'speech', { ...body, speed })),
    );
    const received = await transcribe(Buffer.from(slow ?? ''), vocabulary);
    expect(received.words).toEqual(['river', 'garden', 'seven', 'yellow']);
    const { durationMs } = await transcribe(Buffer.from(fast ?? ''), vocabulary);
    expect(durationMs).toBeLessThan(received.durationMs * 0.7);
  });

  test('treats text as text, never as options of the speech program', async () => {
    const audio = await serve(operations.createSpeech, 'speech', {
      model: 'v',
      voice: 'slt',
      input: '-voice file:///etc/passwd',
    });
    expect((await transcribe(Buffer.from(audio), vocabulary)).durationMs).toBeGreaterThan(500);
  });

  test("is refused with the engine's message for an unknown voice", async () => {
    const body = { model: 'voice', input: 'Hello', voice: 'nobody' };
    await expect(serve(operations.createSpeech, 'speech', body)).rejects.toMatchObject({
      failure: {
        status: 400,
        reason: 'VALIDATION_FAILED',
        message: expect.stringContaining('voice must be one of'),
      },
    });
  });
});

/** The engine writes 8-bit colours without filters, so a pixel's position can be computed. */
function colourOf(png: Buffer, x: number, y: number): readonly [red: number, green: number, blue: number] {
  const width = png.readUInt32BE(16);
  const data = png.indexOf('IDAT');
  const pixels = inflateSync(png.subarray(data + 4, data + 4 + png.readUInt32BE(data - 4)));
  const at = y * (1 + 3 * width) + 1 + 3 * x;
  const [red = 0, green = 0, blue = 0] = pixels.subarray(at, at + 3);
  return [red, green, blue];
}
