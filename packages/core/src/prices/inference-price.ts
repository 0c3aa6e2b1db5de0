import { Fault } from '@millrace/platform/fault';
import {
  addExact,
  addUsd,
  nanoUsd,
  roundExact,
  timesUsd,
  tokenCharge,
  type ExactUsd,
  type NanoUsd,
} from '@millrace/platform/money';
import { z } from 'zod';
import { amountOf } from './frozen-price.ts';
import type { ModelUnit, Price } from './prices.ts';
import { resolvePrice } from './resolve-price.ts';
import type { PriceContext } from './quote.ts';

/** Prices inference requests with exact fractions, rounded up once per request. Pure. */

/** Default price of an image of 1024 × 1024 pixels in 25 steps. */
export const DEFAULT_IMAGE_NANO_USD = nanoUsd(10_000_000n);
/** Default price of a character of speech. */
export const DEFAULT_CHARACTER_NANO_USD = nanoUsd(5_000n);

export const tokensPerMillion = 1_000_000n;
/** Pixels times steps of the image that a price is for. */
export const STANDARD_IMAGE_PIXEL_STEPS = 1_024n * 1_024n * 25n;

const amount = z.string().regex(/^(0|[1-9][0-9]{0,18})$/);

/**
 * The prices of a model for one organisation, as sent to gateways. Plain JSON. Tokens are always priced per million,
 * because every price per token is a whole price per million, but not the reverse.
 */
export const frozenModelPrice = z.strictObject({
  version: z.literal(1),
  model: z.string(),
  /** Null: not sold by tokens. */
  promptNanoUsdPerMillion: amount.nullable(),
  cachedPromptNanoUsdPerMillion: amount.nullable(),
  completionNanoUsdPerMillion: amount.nullable(),
  imageNanoUsd: amount,
  characterNanoUsd: amount,
  priceIds: z.array(z.string()).readonly(),
});

export type FrozenModelPrice = Readonly<z.infer<typeof frozenModelPrice>>;

/** Cached tokens without their own price cost as much as other prompt tokens; images and characters have a default. */
export function freezeModelPrice(
  context: Omit<PriceContext, 'orgId'> & { readonly orgId: PriceContext['orgId'] | null },
  model: string,
): FrozenModelPrice {
  const isFree = context.mode === 'test';
  const find = (unit: ModelUnit): Price | null =>
    isFree ? null : resolvePrice(context.prices, context.orgId, { kind: 'model', model, unit }, context.now);
  const prompt = find('prompt_token');
  const cached = find('cached_prompt_token');
  const completion = find('completion_token');
  const image = find('image');
  const character = find('character');
  const text = (price: Price | null, otherwise: NanoUsd): string =>
    String(isFree ? 0n : (price?.price ?? otherwise));
  const perMillion = (price: Price | null): string | null =>
    isFree ? '0' : price === null ? null : String(pricePerMillion(price));
  return {
    version: 1,
    model,
    promptNanoUsdPerMillion: perMillion(prompt),
    cachedPromptNanoUsdPerMillion: perMillion(cached ?? prompt),
    completionNanoUsdPerMillion: perMillion(completion),
    imageNanoUsd: text(image, DEFAULT_IMAGE_NANO_USD),
    characterNanoUsd: text(character, DEFAULT_CHARACTER_NANO_USD),
    priceIds: [prompt, cached, completion, image, character].flatMap((price) => price?.id ?? []),
  };
}

function pricePerMillion(price: Price): NanoUsd {
  return price.unit === 'million_tokens' ? price.price : timesUsd(price.price, tokensPerMillion);
}

export interface TokenCounts {
  /** All prompt tokens, including cached ones. */
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
}

export function tokenCost(price: FrozenModelPrice, tokens: TokenCounts): NanoUsd {
  if (tokens.cached > tokens.prompt) {
    throw new RangeError(
      `The ${tokens.cached} cached tokens exceed the ${tokens.prompt} tokens of the prompt.`,
    );
  }
  const charges = [
    tokenChargeFor(price.promptNanoUsdPerMillion, tokens.prompt - tokens.cached),
    tokenChargeFor(price.cachedPromptNanoUsdPerMillion, tokens.cached),
    tokenChargeFor(price.completionNanoUsdPerMillion, tokens.completion),
  ];
  return roundExact(charges.reduce(addExact), 'up');
}

function tokenChargeFor(perMillion: string | null, tokens: number): ExactUsd {
  if (perMillion === null && tokens > 0) throw new Fault('PRICE_NOT_AVAILABLE');
  return tokenCharge(amountOf(perMillion ?? '0'), tokens);
}

export interface ImageSize {
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  /** The number of images; their costs are rounded together. */
  readonly count: number;
}

export function imageCost(price: FrozenModelPrice, image: ImageSize): NanoUsd {
  const { width, height, steps, count } = image;
  const size = [width, height, steps, count].reduce((product, side) => product * wholeNumber(side), 1n);
  return roundExact(
    { numerator: amountOf(price.imageNanoUsd) * size, denominator: STANDARD_IMAGE_PIXEL_STEPS },
    'up',
  );
}

export function characterCost(price: FrozenModelPrice, characters: number): NanoUsd {
  return timesUsd(amountOf(price.characterNanoUsd), wholeNumber(characters));
}

export interface RequestQuantities {
  readonly tokens: TokenCounts;
  /** Width × height × steps, summed over all images. */
  readonly imagePixelSteps: number;
  readonly characters: number;
}

/** The cost of a recorded request of any modality. */
export function requestCost(price: FrozenModelPrice, request: RequestQuantities): NanoUsd {
  const { tokens, imagePixelSteps, characters } = request;
  const images = {
    numerator: amountOf(price.imageNanoUsd) * wholeNumber(imagePixelSteps),
    denominator: STANDARD_IMAGE_PIXEL_STEPS,
  };
  return addUsd(tokenCost(price, tokens), roundExact(images, 'up'), characterCost(price, characters));
}

function wholeNumber(value: number): bigint {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RangeError(`Sizes and counts must be whole numbers of 0 or more; got ${value}.`);
  }
  return BigInt(value);
}
