import type { HttpLimits } from './types.ts';

/** Upper limits of everything that could grow without bound. */
export const defaultHttpLimits: HttpLimits = {
  bodyBytes: 1_048_576,
  bodyTimeoutMs: 20_000,
  bodies: {
    processBytes: 64 * 1_048_576,
    processBodies: 2_048,
    unfundedBytes: 16 * 1_048_576,
    unfundedBodies: 512,
    callerBytes: 8 * 1_048_576,
    callerBodies: 256,
  },
  headerBytes: 16_384,
  connectionTimeoutMs: 60_000,
  requestTimeoutMs: 30_000,
  headersTimeoutMs: 10_000,
  keepAliveTimeoutMs: 72_000,
  handlerTimeoutMs: 30_000,
  maxRequestsPerSocket: 10_000,
  sseHeartbeatMs: 15_000,
  sseMaxBufferedBytes: 1_048_576,
  sseMaxDurationMs: 3_600_000,
  sendTimeoutMs: 120_000,
  anonymousRpm: 60,
  signedRpm: 1_200,
  fileRpm: 1_200,
  personRpm: 600,
  failedAuthRpm: 30,
};
