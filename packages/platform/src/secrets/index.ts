export { createSealer, SealedSecretError, type SealContext, type Sealer, type SealingKey } from './sealer.ts';
export { isEqualConstantTime } from './constant-time-equal.ts';
