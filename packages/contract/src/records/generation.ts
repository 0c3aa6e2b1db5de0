import { z } from 'zod';
import { bodyText, boundedRecord } from './vocabulary.ts';

/** Image and audio generation schemas of v1. */

export const imageSide = z.int().min(128).max(2496);
const prompt = z.string().max(20_000);
const name = z.string().max(200);
const base64 = z.string().meta({ description: 'Base64.' });
const base64Input = bodyText.meta({ description: 'Base64.' });

export const imageRequest = z
  .object({
    model_name: name.min(1),
    prompt,
    height: imageSide,
    width: imageSide,
    backend: name.default('auto'),
    negative_prompt: prompt.optional(),
    prompt_2: prompt.optional(),
    negative_prompt_2: prompt.optional(),
    style_preset: name.optional(),
    image: base64Input.optional(),
    controlnet_name: name.optional(),
    controlnet_image: base64Input.optional(),
    seed: z.int().optional(),
    strength: z.number().min(0).max(1).optional(),
    cfg_scale: z.number().min(0).max(50).default(5),
    steps: z.int().min(1).max(1000).default(30),
    sampler: name.optional(),
    enable_refiner: z.boolean().default(false),
    lora: boundedRecord(z.number(), { names: 100, nameLength: 200 }).default({}),
  })
  .meta({ id: 'ImageGenerationRequest' });

export const imageResponse = z
  .strictObject({
    images: z.array(z.strictObject({ index: z.int(), image: base64, random_seed: z.int() })),
    inference_time: z.number().meta({ description: 'Seconds.' }),
  })
  .meta({ id: 'ImageGeneration' });

export const audioRequest = z
  .object({
    text: z.string().min(1).max(20_000),
    language: name.optional(),
    speaker: name.optional(),
    speed: z.number().min(0.25).max(4).default(1),
    sdp_ratio: z.number().min(0).max(1).default(0.2),
    noise_scale: z.number().min(0).max(2).default(0.6),
    noise_scale_w: z.number().min(0).max(2).default(0.8),
    model: name.optional(),
  })
  .meta({ id: 'AudioGenerationRequest' });

export const audioResponse = z
  .strictObject({
    audio: base64.meta({ description: 'An MP3 file, base64.' }),
    inference_time: z.number().meta({ description: 'Seconds.' }),
    sample_rate: z.int(),
    usage: z.int().meta({ description: 'Characters billed.' }),
  })
  .meta({ id: 'AudioGeneration' });
