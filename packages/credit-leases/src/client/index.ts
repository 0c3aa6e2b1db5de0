export { createCreditLeaseClient, type CreditLeaseClientOptions } from './credit-lease-client.ts';
export type {
  InsufficientFunds,
  CreditLeaseClient,
  ReserveRejection,
  Reservation,
  ReserveRequest,
} from './client-types.ts';
