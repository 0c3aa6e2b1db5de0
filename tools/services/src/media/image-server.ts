import { randomInt } from 'node:crypto';
import path from 'node:path';

import { mediaModels } from '../engines/inference/media-command.ts';
import { repositoryRoot } from '../site.ts';
import { loadImageModel } from './image-model.ts';
import { toPng } from './png.ts';
import { BadRequest, json, numberIn, serve, textIn } from './server.ts';

/** Serves the toy image model over OpenAI's images protocol, with the extra fields of diffusion engines. */

const imageModel = await loadImageModel(path.join(repositoryRoot, 'fixtures', 'models', 'image'));

const whole = (value: number): number => Math.trunc(value);

serve(mediaModels.images, '/v1/images/generations', async (body, signal) => {
  const [width, height] = sizeOf(body['size'] ?? '256x256');
  const count = whole(numberIn(body, 'n', 1, [1, 10]));
  const seed = whole(numberIn(body, 'seed', randomInt(2 ** 31), [0, Number.MAX_SAFE_INTEGER]));
  const negative = body['negative_prompt'];
  const request = {
    prompt: textIn(body, 'prompt'),
    negativePrompt: typeof negative === 'string' ? negative : '',
    steps: whole(numberIn(body, 'num_inference_steps', 20, [1, 200])),
    guidance: numberIn(body, 'guidance_scale', 3, [0, 20]),
  };
  const format = body['response_format'] ?? 'b64_json';
  if (format !== 'b64_json') throw new BadRequest('Only response_format b64_json is supported.');
  const data: { readonly b64_json: string }[] = [];
  for (let index = 0; index < count; index += 1) {
    const picture = await imageModel.draw({ ...request, seed: seed + index }, signal);
    data.push({ b64_json: toPng(picture, width, height).toString('base64') });
  }
  return json({ created: Math.floor(Date.now() / 1000), data });
});

function sizeOf(size: unknown): readonly [width: number, height: number] {
  const [, width, height] = /^(\d{2,4})x(\d{2,4})$/u.exec(String(size)) ?? [];
  const sides = [Number(width), Number(height)] as const;
  if (sides.every((side) => side >= 32 && side <= 2496)) return sides;
  throw new BadRequest('size must be WIDTHxHEIGHT, each from 32 to 2496.');
}
