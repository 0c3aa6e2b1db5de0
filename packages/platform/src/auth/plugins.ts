import { passkey } from '@better-auth/passkey';
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
