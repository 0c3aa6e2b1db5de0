import { contract } from '@millrace/contract';
import { freezeModelPrice } from '@millrace/core/prices';
import { Fault } from '@millrace/platform/fault';
import { describe, expect, test } from 'vitest';
import { fixedSender, deploymentOf, never } from '../../adapters/media/media-adapter.fixture.ts';
import { silentMp3 } from '../../adapters/media/mp3-header.ts';
import { audioOperations, charactersOf } from './audio-operations.ts';
import { defaultModel, mediaCost } from './media-operation.ts';

const { generateAudio, createSpeech } = audioOperations;
const openAi = { model: 'voice', input: 'Hello', voice: 'echo' };

function refused(operation: typeof generateAudio, body: object): readonly string[] | null {
  try {
    operation.read(body);
    return null;
  } catch (error) {
    if (!(error instanceof Fault) || error.reason !== 'VALIDATION_FAILED') throw error;
    return error.issues.map(({ path }) => path.join('.'));
  }
}

describe('audio parameters', () => {
  const long = 'a'.repeat(20_001);
  test.each([
    ['text', ['a', long.slice(1)], ['', long, 1]],
    ['speed', [0.25, 1, 4, null], [0.24, 4.01, '1']],
    ['sdp_ratio', [0, 0.2, 1], [-0.1, 1.1]],
    ['noise_scale', [0, 0.6, 2], [-0.1, 2.1]],
    ['noise_scale_w', [0, 0.8, 2], [-0.1, 2.1]],
    ['language', ['EN', null], [1]],
    ['speaker', ['rms', null], [1]],
    ['model', ['voice', null], [1]],
  ] as const)('%s', (name, good, bad) => {
    const body = { text: 'Hello' };
    for (const value of good)
      expect(refused(generateAudio, { ...body, [name]: value }), `${value}`).toBeNull();
    for (const value of bad)
      expect(refused(generateAudio, { ...body, [name]: value }), `${value}`).toEqual([name]);
  });

  test.each([
    ['input', ['a', long.slice(0, 4096)], ['', long.slice(0, 4097)]],
    ['voice', ['alloy'], ['', 1]],
    ['response_format', ['mp3', null], ['wav', 'opus']],
    ['speed', [0.25, 4], [0.2, 4.1]],
    ['model', ['m'], ['']],
  ] as const)('%s is accepted in range and refused out of range in the OpenAI shape', (name, good, bad) => {
    for (const value of good)
      expect(refused(createSpeech, { ...openAi, [name]: value }), `${value}`).toBeNull();
    for (const value of bad)
      expect(refused(createSpeech, { ...openAi, [name]: value }), `${value}`).toEqual([name]);
  });
});

test('audio operations read both shapes into equal requests with the documented defaults', () => {
  expect(generateAudio.read({ text: 'Hello' }).request).toEqual({
    ...{ model: null, text: 'Hello', voice: null, speed: 1, language: null, tuning: {} },
  });
  const own = { text: 'Hello', speaker: 'echo', model: 'voice' };
  expect(generateAudio.read(own).request).toEqual(createSpeech.read(openAi).request);
});

describe('speech request to an engine', () => {
  async function bodySent(request: object, engine: 'speech' | 'vllm' = 'speech'): Promise<unknown> {
    const { call, requests } = fixedSender(200, silentMp3(2));
    const deployment = deploymentOf(engine, { upstreamModel: 'tts', apiKey: 'k' });
    const { request: sent } = generateAudio.read(request);
    const response = await generateAudio
      .adapterOf(engine)
      ?.run(sent, { deployment, requestId: 'r' }, call, never);
    expect(response?.sampleRate).toBe(44_100);
    expect(requests[0]).toMatchObject({ path: '/v1/audio/speech', headers: { authorization: 'Bearer k' } });
    return JSON.parse(String(requests[0]?.body));
  }

  test('has engine-specific fields only if they are set', async () => {
    const plain = { model: 'tts', input: 'Hello', voice: 'alloy', response_format: 'mp3', speed: 1 };
    expect(await bodySent({ text: 'Hello' })).toEqual(plain);
    expect(await bodySent({ text: 'Hello', language: 'EN', noise_scale: 0.1, sdp_ratio: 0.2 })).toEqual({
      ...plain,
      language: 'EN',
      noise_scale: 0.1,
    });
  });

  test('leaves the voice to vLLM if the client names none', async () => {
    expect(await bodySent({ text: 'Hello' }, 'vllm')).not.toHaveProperty('voice');
    expect(await bodySent({ text: 'Hello', speaker: 'ryan' }, 'vllm')).toHaveProperty('voice', 'ryan');
  });

  test('is refused before OpenAI is called for fields that OpenAI would refuse', () => {
    const { request } = generateAudio.read({ text: 'Hello', language: 'EN', noise_scale: 0.1 });
    const deployment = deploymentOf('openai');
    expect(generateAudio.adapterOf('openai')?.unsupportedFields(request, deployment)).toEqual([
      'language',
      'noise_scale',
    ]);
    expect(generateAudio.adapterOf('speech')?.unsupportedFields(request, deployment)).toEqual([]);
  });

  test.each([Buffer.from('{"error":"x"}'), Buffer.from('RIFF1234WAVEfmt '), Buffer.alloc(0)])(
    'is an engine failure if the response is not an MP3',
    async (bytes) => {
      const { call } = fixedSender(200, bytes);
      const facts = { deployment: deploymentOf('speech'), requestId: 'r' };
      const { request } = createSpeech.read(openAi);
      await expect(createSpeech.adapterOf('speech')?.run(request, facts, call, never)).rejects.toMatchObject({
        failure: { reason: 'UPSTREAM_ERROR', retryable: true },
      });
    },
  );
});

test('speech is charged per Unicode character', () => {
  const price = freezeModelPrice(
    { orgId: 'org', mode: 'live', now: new Date(0), prices: [] } as never,
    'voice',
  );
  const { request } = createSpeech.read({ ...openAi, input: 'né 🎡' });
  expect(charactersOf('né 🎡')).toBe(4);
  expect(mediaCost(price, createSpeech.worstCase(request))).toBe(20_000n);
});

test('audio responses match the contract', async () => {
  const facts = { deployment: deploymentOf('mock'), requestId: 'r' };
  const call = async () => Promise.reject(new Error('unexpected upstream call'));
  const { request } = generateAudio.read({ text: 'Hello, mill!' });
  const response = await generateAudio.adapterOf('mock')?.run(request, facts, call, never);
  if (response === undefined) throw new Error('The mock returned no speech.');
  const mine = { createdSeconds: 1, elapsedMs: 90 };
  const own: unknown = JSON.parse(String(generateAudio.render(request, response, mine).body));
  expect(contract.operations.generateAudio.response.schema.parse(own)).toEqual({
    audio: response.audio.toString('base64'),
    inference_time: 0.09,
    sample_rate: 44_100,
    usage: 12,
  });
  expect(createSpeech.render(request, response, mine)).toEqual({
    contentType: 'audio/mpeg',
    body: response.audio,
  });
});

test('audio requests without a model always get the same default model', () => {
  const model = (name: string, modality: string, deployments = 1) =>
    ({ name, modality, deployments: Array.from({ length: deployments }) }) as never;
  const models = [model('b', 'audio'), model('a', 'audio', 0), model('c', 'audio'), model('0', 'image')];
  expect(defaultModel(models, 'audio')?.name).toBe('b');
  expect(defaultModel([], 'audio')).toBeNull();
});
