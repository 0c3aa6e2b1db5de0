import type { StripeGateway } from './stripe-gateway.ts';

/**
 * Returns null without secrets. Then Stripe's library is not loaded, because its two hundred files slow down process
 * start.
 */
export async function stripeGatewayOf(settings: {
  readonly secretKey: string | null;
  readonly webhookSecret: string | null;
  readonly apiUrl: string;
}): Promise<StripeGateway | null> {
  const { secretKey, webhookSecret, apiUrl } = settings;
  if (secretKey === null || webhookSecret === null) return null;
  const { createStripeGateway } = await import('./stripe-gateway.ts');
  return createStripeGateway({ secretKey, webhookSecret, apiUrl });
}
