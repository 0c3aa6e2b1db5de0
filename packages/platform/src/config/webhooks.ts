import { fragment } from './fragment.ts';
import { values } from './values.ts';

/** Webhook settings that every process needs: the networks where tenants' receivers may be. */
export const webhooksConfig = fragment('webhooks', {
  allowedNetworks: {
    env: 'MILLRACE_WEBHOOK_ALLOWED_NETWORKS',
    schema: values.listOf(values.cidr).default([]),
    expected:
      'a comma-separated list of addresses or CIDR blocks, besides the public internet, where webhook receivers may be',
    example: '10.30.0.0/16',
  },
});
