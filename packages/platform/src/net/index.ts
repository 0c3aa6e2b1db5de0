export {
  createNetGuard,
  ForbiddenAddressError,
  guardedConnect,
  guardedLookup,
  assertAddressAllowed,
  type NetGuard,
} from './guard.ts';
export { hostOf, isLoopback, isPlainHttpBeyondLoopback } from './loopback.ts';
