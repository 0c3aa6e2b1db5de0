import { TextField } from '../../ui/field.tsx';

/** Limit of the api: hashing longer passwords would only cost time. */
const MAX_PASSWORD_LENGTH = 128;

interface PasswordFieldProps {
  readonly label: string;
  readonly name?: string;
  readonly autoFocus?: boolean;
}

export function PasswordField({ name = 'password', ...rest }: PasswordFieldProps) {
  return (
    <TextField
      {...rest}
      name={name}
      type="password"
      autoComplete="current-password"
      required
      maxLength={MAX_PASSWORD_LENGTH}
    />
  );
}

/** For a new password: browsers offer to generate one. */
export function NewPasswordField({ name = 'password', ...rest }: PasswordFieldProps) {
  return (
    <TextField
      {...rest}
      name={name}
      type="password"
      autoComplete="new-password"
      hint="At least 10 characters. Several unrelated words work well."
      required
      minLength={10}
      maxLength={MAX_PASSWORD_LENGTH}
    />
  );
}
