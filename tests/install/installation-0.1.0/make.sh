#!/bin/bash
# Makes the files of this folder with the programs of 0.1.0. README.md says how to run it.
set -euo pipefail
into=$1
base=17500
state=.millrace
admin() { tools/run apps/admin/src/main.ts "$@"; }
# client KEY COMMAND…
client() { MILLRACE_API_KEY=$1 MILLRACE_API_URL=http://127.0.0.1:$((base + 90)) MILLRACE_INFERENCE_URL=http://127.0.0.1:$((base + 91)) tools/run apps/cli/src/main.ts "${@:2}"; }
field() { node -e 'let t = ""; process.stdin.on("data", (d) => (t += d)).on("end", () => console.log(process.argv[1].split(".").reduce((v, k) => v[k], JSON.parse(t))))' "$1"; }
ready() { until curl -fsS "http://127.0.0.1:$1/readyz" >/dev/null 2>&1; do sleep 0.5; done; }

tools/run tools/services/src/main.ts up postgres nats valkey restate llama --port-base $base
endpoint() { field "current.$1" < $state/endpoints.json; }
cat > "$into/settings.env" <<SETTINGS
MILLRACE_POSTGRES_URL=$(endpoint postgresUrl)
MILLRACE_NATS_URLS=nats://127.0.0.1:$((base + 20))
MILLRACE_VALKEY_URL=$(endpoint valkeyUrl)
MILLRACE_POT_VALKEY_URL=$(endpoint valkeyUrl)
MILLRACE_RESTATE_INGRESS_URL=$(endpoint restate.ingressUrl)
MILLRACE_RESTATE_ADMIN_URL=$(endpoint restate.adminUrl)
MILLRACE_RESTATE_IDENTITY_KEYS=$(endpoint restate.identityPublicKey)
MILLRACE_CELL=3
MILLRACE_SEALING_KEYS=2026-09:$(openssl rand -base64 32),2026-01:$(openssl rand -base64 32)
MILLRACE_SEALING_KEY_ACTIVE=2026-09
MILLRACE_AUTH_SECRET=$(openssl rand -base64 32)
MILLRACE_HTTP_PUBLIC_URL=http://127.0.0.1:$((base + 90))
MILLRACE_INSTALLATION_NAME='Example Cloud'
MILLRACE_INVOICE_ISSUER='Example Cloud\n1 Mill Lane'
MILLRACE_RATE_LIMIT_DEFAULT_RPM=600
MILLRACE_PROVIDERS='[{"id":"mock","variant":"mock"},{"id":"private-cloud","variant":"private-cloud"}]'
SETTINGS
set -a; . "$into/settings.env"; set +a

admin migrate | tail -1
operator=$(admin bootstrap --email ada@example.com --name Ada --organisation 'Example Cloud' --json | field key)
admin organisation add --organisation Tenant --email bob@example.com
admin organisation add --organisation 'Without money' --email eve@example.com
live=$(admin key create --organisation tenant --email bob@example.com --json | field key)
test=$(admin key create --organisation tenant --email bob@example.com --mode test --json | field key)

process() { local role=$1; shift; env "$@" tools/run "apps/$role/src/main.ts" > "$state/$role.log" 2>&1 & eval "$role=\$!"; }
process api MILLRACE_HTTP_PORT=$((base + 90))
process gateway MILLRACE_HTTP_PORT=$((base + 91)) MILLRACE_GATEWAY_HEALTH_PORT=$((base + 92))
process worker MILLRACE_WORKER_HEALTH_PORT=$((base + 93)) MILLRACE_RESTATE_ENDPOINT_PORT=$((base + 94))
trap 'kill $api $gateway $worker 2>/dev/null || true' EXIT
for port in 90 92 93; do ready $((base + port)); done

client "$operator" admin org grant tenant 25 --reason 'opening credit' --yes
client "$operator" admin org grant example-cloud 5 --reason 'our own tests' --yes
client "$operator" admin model create --name tiny --modality chat --owned-by example --context-length 2048 --max-output-tokens 512
for unit in prompt_token completion_token; do
  client "$operator" admin price create 0.40 --model tiny --model-unit $unit --from 2026-01-01 --reason 'first price' --yes
done
endpoint llama.apiKey | client "$operator" admin deployment create --model tiny --engine llama.cpp --address "$(endpoint llama.url)" \
  --upstream-model "$(endpoint llama.model)" --region local --api-key-stdin
until client "$live" chat --model tiny --max-tokens 20 'Tell me of the mill.'; do sleep 1; done
client "$live" chat --model tiny --max-tokens 20 'Tell me of the stone.'
client "$operator" chat --model tiny --max-tokens 20 'Tell me of the water.'

ssh-keygen -q -t ed25519 -N '' -C bob@example.com -f $state/bob
client "$test" ssh-key add $state/bob.pub --name laptop
client "$live" ssh-key add $state/bob.pub --name laptop
client "$live" webhook create https://hooks.example.com/millrace --type invoice.finalized --json > $state/webhook
organisation=$(client "$live" whoami --json | field organisation.id)
client "$operator" admin rental create-private-cloud --organisation-id "$organisation" --name contract --gpu-type h100 --gpu-count 8 \
  --nodes '[{"privateIp":"10.1.0.1"}]' --ssh-user bob --reason contract
client "$test" rental create --gpu h100 --name runs --yes
client "$test" rental create --gpu h100 --name ended --yes
client "$test" rental terminate ended --yes --wait
client "$test" volume create data --region mock-region --size-gb 256 --yes

# As docs/guides/upgrade-from-0.1.0.md says: gateways first, the worker when all usage is charged.
kill $gateway
wait $gateway || true
sleep 20
# These three are in progress when the worker and Restate stop.
for name in starting late; do
  client "$test" rental create --gpu h100 --name $name --tag millrace.fault=slow-boot --yes --no-wait
done
client "$test" rental create --gpu h100 --name ending --yes
client "$test" rental terminate ending --yes
kill -KILL $worker
kill $api
wait $api || true

pg_dump "$MILLRACE_POSTGRES_URL" | gzip -9n > "$into/database.sql.gz"
cat > "$into/keys.env" <<KEYS
OPERATOR_KEY=$operator
LIVE_KEY=$live
TEST_KEY=$test
ENGINE_KEY=$(endpoint llama.apiKey)
ENGINE_ADDRESS=$(endpoint llama.url)
KEYS
tools/run tools/services/src/main.ts down
