export { allocate } from './allocate.ts';
export {
  addExact,
  affordableMs,
  fromCents,
  hourlyCharge,
  meteredTotal,
  roundExact,
  toCents,
  tokenCharge,
  type ExactUsd,
} from './exact.ts';
export {
  addUsd,
  formatUsd,
  nanoPerUsd,
  nanoUsd,
  negateUsd,
  parseNanoUsd,
  parseUsd,
  subtractUsd,
  timesUsd,
  zeroUsd,
  type NanoUsd,
} from './nano-usd.ts';
export { fromPercentage, ppm, ppmPerWhole, shareOf, toPercentage, type Ppm } from './percentage.ts';
export { divideHalfEven, divideRoundDown, divideRoundUp, type Rounding } from './rounding.ts';
export {
  bytesToMebibytes,
  floorDivide,
  msToSeconds,
  msToSecondsRoundDown,
  msToSecondsRoundUp,
  nanosecondsToMs,
  perSecond,
  secondsToMs,
  ratio,
  divideWithRemainder,
} from './units.ts';
export { fromUsdNumber, toNearestUsdNumber, toUsdNumber } from './usd-number.ts';
