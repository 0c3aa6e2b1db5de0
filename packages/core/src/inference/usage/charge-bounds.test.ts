import { contract } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { publicApiLimits, maxRequestSize } from './charge-bounds.ts';

const { generateImage, createImages, generateAudio, createSpeech, createCompletion } = contract.operations;
const none = { promptTokens: 0n, completionTokens: 0n, imagePixelSteps: 0n, characters: 0n };
const { choices, imageSide, imageSteps, images, characters } = publicApiLimits;

describe('publicApiLimits', () => {
  const image = { model_name: 'm', prompt: 'p', width: imageSide, height: imageSide, steps: imageSteps };
  const openAi = { model: 'm', prompt: 'p', size: `${imageSide}x${imageSide}`, n: images };
  const completion = { model: 'm', prompt: Array<string>(choices).fill('p'), n: choices };
  it.each([
    ['sides', generateImage.body, image, { width: imageSide + 1 }],
    ['steps', generateImage.body, image, { steps: imageSteps + 1 }],
    ['sides in the OpenAI format', createImages.body, openAi, { size: `${imageSide + 1}x${imageSide}` }],
    ['images', createImages.body, openAi, { n: images + 1 }],
    [
      'steps in the OpenAI format',
      createImages.body,
      { ...openAi, num_inference_steps: imageSteps },
      { num_inference_steps: imageSteps + 1 },
    ],
    [
      'characters',
      generateAudio.body,
      { text: 'a'.repeat(characters) },
      { text: 'a'.repeat(characters + 1) },
    ],
    ['answers', createCompletion.body, completion, { n: choices + 1 }],
    ['prompts', createCompletion.body, completion, { prompt: Array<string>(choices + 1).fill('p') }],
  ])('match the contract for %s', (_name, body, largest, more) => {
    expect(body.safeParse(largest).success).toBe(true);
    expect(body.safeParse({ ...largest, ...more }).success).toBe(false);
  });

  it('cover speech in the OpenAI format, which allows less', () => {
    const speech = { model: 'm', voice: 'v', input: 'a'.repeat(characters) };
    expect(createSpeech.body.safeParse(speech).success).toBe(false);
  });
});

describe('maxRequestSize', () => {
  it.each([
    ['chat', 1_000, 100, { promptTokens: 128_000n, completionTokens: 12_800n }],
    ['chat', 1_000, 5_000, { promptTokens: 128_000n, completionTokens: 128_000n }],
    ['completion', 1_000, null, { promptTokens: 128_000n, completionTokens: 128_000n }],
    ['completion', null, null, { promptTokens: 2n ** 28n, completionTokens: 2n ** 31n }],
    ['image', null, null, { imagePixelSteps: 2_496n * 2_496n * 10_000n }],
    ['audio', null, null, { characters: 20_000n }],
  ] as const)(
    'of a %s model with context %s and completions of %s',
    (modality, contextLength, maxOutputTokens, size) => {
      expect(maxRequestSize({ modality, contextLength, maxOutputTokens })).toEqual({ ...none, ...size });
    },
  );
});
