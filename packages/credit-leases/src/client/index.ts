export { createCreditLeaseClient, type CreditLeaseClientOptions } from './credit-lease-client.ts';
export type {
  InsufficientFunds,
  CreditLeaseClient,
  ReserveRefusal,
  Reservation,
  ReserveRequest,
} from './client-types.ts';
