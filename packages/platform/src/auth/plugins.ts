import { passkey } from '@better-auth/passkey';
import { APIError } from 'better-auth/api';
import { deviceAuthorization, genericOAuth, twoFactor } from 'better-auth/plugins';
import { columns, type OidcProvider, type SignInSettings } from './settings.ts';

/** The only program that may request a device login: the CLI. */
const DEVICE_CLIENT_ID = 'millrace-cli';

/** The library's plugins for other ways to sign in, mapped to our tables and columns. */
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

/** A passkey replaces password and second factor, so it must verify its user: possession is not enough. */
function userVerificationMissing(status: 'BAD_REQUEST' | 'UNAUTHORIZED'): APIError {
  return new APIError(status, {
    code: 'PASSKEY_ASKS_NOBODY',
    message:
      'This passkey does not ask for a PIN, fingerprint or face. Set one up on the device, or use another passkey.',
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
    // If the provider does not verify the email address, we verify it by email.
    requireEmailVerification: true,
    mapProfileToUser: toUser,
  };
}

/** Some providers send the string `"false"`, which is truthy. */
function toUser(profile: Readonly<Record<string, unknown>>) {
  const { email_verified: claim } = profile;
  return { emailVerified: claim === true || claim === 'true' };
}

/**
 * Refuses a provider's ID token sent by the page: the library would accept it without a nonce, so a token leaked from a
 * log or our own table would sign in. Our pages always redirect to the provider.
 */
export function rejectClientIdToken(path: string, body: unknown): void {
  if (path !== '/sign-in/social' || typeof body !== 'object' || body === null) return;
  if (!('idToken' in body) || body.idToken === undefined || body.idToken === null) return;
  throw new APIError('BAD_REQUEST', {
    code: 'TOKEN_NOT_TAKEN',
    message: "Provider tokens are not accepted here. Sign in on the provider's page.",
  });
}
