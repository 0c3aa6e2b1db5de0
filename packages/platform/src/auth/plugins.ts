import { passkey } from '@better-auth/passkey';
import { APIError } from 'better-auth/api';
import { deviceAuthorization, genericOAuth, twoFactor } from 'better-auth/plugins';
import { columns, type OidcProvider, type SignInSettings } from './settings.ts';

/** The program that may ask to be signed in by a person: the command line. */
const DEVICE_CLIENT_ID = 'millrace-cli';

/** The ways to sign in beside a password, on tables and columns of ours. */
export function authPlugins(settings: SignInSettings) {
  const { name, publicUrl } = settings;
  return [
    twoFactor({
      issuer: name,
      schema: {
        user: { fields: { twoFactorEnabled: 'two_factor_enabled' } },
        twoFactor: {
          modelName: 'two_factors',
          fields: columns(['backupCodes', 'userId', 'failedVerificationCount', 'lockedUntil']),
        },
      },
    }),
    passkey({
      rpID: new URL(publicUrl).hostname,
      rpName: name,
      origin: new URL(publicUrl).origin,
      authenticatorSelection: { userVerification: 'required' },
      registration: {
        afterVerification: ({ verification }) => {
          if (verification.registrationInfo?.userVerified !== true)
            throw userVerificationMissing('BAD_REQUEST');
        },
      },
      authentication: {
        afterVerification: ({ verification }) => {
          if (!verification.authenticationInfo.userVerified) throw userVerificationMissing('UNAUTHORIZED');
        },
      },
      schema: {
        passkey: {
          modelName: 'passkeys',
          fields: {
            ...columns(['publicKey', 'userId', 'deviceType', 'backedUp', 'createdAt']),
            credentialID: 'credential_id',
          },
        },
      },
    }),
    deviceAuthorization({
      verificationUri: `${publicUrl}/console/device`,
      expiresIn: '10m',
      interval: '5s',
      validateClient: (clientId) => clientId === DEVICE_CLIENT_ID,
      schema: {
        deviceCode: {
          modelName: 'device_codes',
          fields: columns([
            ...(['deviceCode', 'userCode', 'userId', 'expiresAt', 'lastPolledAt'] as const),
            ...(['pollingInterval', 'clientId'] as const),
          ]),
        },
      },
    }),
    ...(settings.oidc.length === 0 ? [] : [genericOAuth({ config: settings.oidc.map(toGenericOAuth) })]),
  ];
}

/** A passkey stands for the password and the second factor: one that works for whoever holds it would be less than those. */
function userVerificationMissing(status: 'BAD_REQUEST' | 'UNAUTHORIZED'): APIError {
  return new APIError(status, {
    code: 'PASSKEY_ASKS_NOBODY',
    message: 'This passkey asks for no PIN, finger or face. Set one up on the device, or take another.',
  });
}

function toGenericOAuth({ id, name, discoveryUrl, clientId, clientSecret, scopes }: OidcProvider) {
  return {
    providerId: id,
    name,
    discoveryUrl,
    clientId,
    clientSecret,
    scopes: [...scopes],
    pkce: true,
    requireIdTokenVerification: true,
    // A provider that does not vouch for a mailbox leaves it to a letter of ours.
    requireEmailVerification: true,
    mapProfileToUser: toUser,
  };
}

/** Some providers say `"false"`, which a program that asks for truth takes for a yes. */
function toUser(profile: Readonly<Record<string, unknown>>) {
  const { email_verified: claim } = profile;
  return { emailVerified: claim === true || claim === 'true' };
}

/**
 * The library would also take a token of the provider from the page, and then asks for no nonce: whoever came by one, in a log
 * or in our own table, would be in. Our pages lead to the provider and back, and nothing else does.
 */
export function rejectClientIdToken(path: string, body: unknown): void {
  if (path !== '/sign-in/social' || typeof body !== 'object' || body === null) return;
  if (!('idToken' in body) || body.idToken === undefined || body.idToken === null) return;
  throw new APIError('BAD_REQUEST', {
    code: 'TOKEN_NOT_TAKEN',
    message: 'A token of a provider is not taken here. Sign in at the provider.',
  });
}
