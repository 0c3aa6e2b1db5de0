export {
  createNetGuard,
  ForbiddenAddressError,
  guardedConnect,
  guardedLookup,
  assertAddressAllowed,
  type NetGuard,
} from './guard.ts';
export { isLoopback } from './loopback.ts';
export { tlsFilesOf, watchTlsFiles, type TlsFilesOptions } from './tls-files.ts';
