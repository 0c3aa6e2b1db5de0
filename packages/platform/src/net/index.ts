export {
  createNetGuard,
  ForbiddenAddressError,
  guardedConnect,
  guardedLookup,
  refuseForbidden,
  type NetGuard,
} from './guard.ts';
