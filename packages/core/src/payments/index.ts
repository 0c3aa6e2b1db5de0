export { servePayments, type PaymentRoutes } from './payments.routes.ts';
export { Payments, UNPAID_MAX, type PaymentsOptions } from './payments.service.ts';
export {
  createStripeGateway,
  stripeGatewayOf,
  type StripeGateway,
  type StripeSettings,
} from './stripe-gateway.ts';
export { stripeEventTypes } from './stripe-facts.ts';
