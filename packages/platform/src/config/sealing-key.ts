import { z } from 'zod';

/** One entry of a list of sealing keys. */
export const sealingKey = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,32}:[A-Za-z0-9+/]{43}=$/, 'each entry is an id, a colon and 32 bytes in base64')
  .transform((entry) => {
    const [id = '', key = ''] = entry.split(':');
    return { id, key: Buffer.from(key, 'base64') };
  });
