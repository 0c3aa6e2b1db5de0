import { readFileSync } from 'node:fs';
import path from 'node:path';

import { InferenceSession, Tensor } from 'onnxruntime-node';

/** Toy text-to-image model: turns noise into a picture step by step, guided by the prompt. */

export interface DrawRequest {
  readonly prompt: string;
  readonly negativePrompt: string;
  readonly seed: number;
  readonly steps: number;
  readonly guidance: number;
}

/** Three colour planes of `side` x `side` values from -1 to 1. */
export interface Picture {
  readonly side: number;
  readonly planes: Float32Array;
}

export interface ImageModel {
  /** Stops between two steps when the signal is aborted. */
  draw(request: DrawRequest, signal: AbortSignal): Promise<Picture>;
}

interface Vocabulary {
  readonly size: number;
  readonly maxTokens: number;
  readonly vocab: Readonly<Record<string, number>>;
}

const unknownWord = 1;
const noWord = 0;

export async function loadImageModel(folder: string): Promise<ImageModel> {
  const {
    size: side,
    maxTokens,
    vocab,
  } = JSON.parse(readFileSync(path.join(folder, 't2i.json'), 'utf8')) as Vocabulary;
  const session = await InferenceSession.create(path.join(folder, 't2i.onnx'), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  });
  const length = 3 * side * side;

  function tokensOf(text: string): bigint[] {
    const words = text
      .toLowerCase()
      .split(/[\s,.]+/u)
      .filter((word) => word !== '');
    const tokens = words.slice(0, maxTokens).map((word) => BigInt(vocab[word] ?? unknownWord));
    return [...tokens, ...Array.from({ length: maxTokens - tokens.length }, () => BigInt(noWord))];
  }

  async function velocities(now: Float32Array, time: number, tokens: Tensor): Promise<Float32Array> {
    const both = new Float32Array(2 * length);
    both.set(now);
    both.set(now, length);
    const { v } = await session.run({
      x: new Tensor('float32', both, [2, 3, side, side]),
      t: new Tensor('float32', Float32Array.of(time, time), [2]),
      tokens,
    });
    if (!(v?.data instanceof Float32Array)) throw new Error('the model returned no numbers');
    return v.data;
  }

  return {
    async draw(request, signal) {
      const both = [...tokensOf(request.prompt), ...tokensOf(request.negativePrompt)];
      const tokens = new Tensor('int64', BigInt64Array.from(both), [2, maxTokens]);
      const planes = noise(request.seed, length);
      for (let step = 0; step < request.steps; step += 1) {
        signal.throwIfAborted();
        const ways = await velocities(planes, step / request.steps, tokens);
        for (let at = 0; at < length; at += 1) {
          const without = ways[length + at] ?? 0;
          const led = without + request.guidance * ((ways[at] ?? 0) - without);
          planes[at] = (planes[at] ?? 0) + led / request.steps;
        }
      }
      return { side, planes };
    },
  };
}

/** Normally distributed values, the same for the same seed. */
function noise(seed: number, length: number): Float32Array {
  const next = uniform(seed);
  return Float32Array.from(
    { length },
    () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  );
}

function uniform(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
