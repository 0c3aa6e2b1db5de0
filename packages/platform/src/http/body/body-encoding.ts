import type { IncomingHttpHeaders } from 'node:http';
import { Fault } from '../../fault/index.ts';

/** The fault for a body that cannot be read; null if it can. Bodies must be uncompressed UTF-8. */
export function unsupportedEncodingFault(headers: IncomingHttpHeaders): Fault | null {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity') {
    return new Fault('UNSUPPORTED_MEDIA_TYPE', {
      message: 'The header Content-Encoding names an encoding that is not supported.',
      suggestion: 'Send the body uncompressed, without the header Content-Encoding.',
    });
  }
  const charset = charsetOf(headers['content-type'] ?? '');
  if (charset === null || charset === 'utf-8' || charset === 'utf8') return null;
  return new Fault('UNSUPPORTED_MEDIA_TYPE', {
    message: 'The header Content-Type names a charset other than UTF-8.',
    suggestion: 'Send the body as UTF-8 with the header Content-Type: application/json.',
  });
}

function charsetOf(contentType: string): string | null {
  for (const parameter of contentType.toLowerCase().split(';').slice(1)) {
    const [name = '', value = ''] = parameter.split('=');
    if (name.trim() === 'charset') return value.trim().replaceAll('"', '');
  }
  return null;
}
