// Signing on with an OpenID Connect provider: the code flow with PKCE. What proves that this tab began stays in it.

import { Refused, get, post, token } from "./api.js";

const KEPT = "discreet.signon";
const letters = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const fresh = () => letters(crypto.getRandomValues(new Uint8Array(32)));

/** Where people sign on; null if they have tokens only. */
export async function provider() {
  try { return (await get("/api/sign-on")).provider; } catch { return null; }
}

/** Leave for the provider, which sends the browser back to this page. */
export async function begin({ address, client, redirect, scope }) {
  const kept = { state: fresh(), nonce: fresh(), verifier: fresh() };
  sessionStorage.setItem(KEPT, JSON.stringify(kept));
  const challenge = letters(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(kept.verifier)));
  const there = new URL(address);
  for (const [name, value] of Object.entries({
    response_type: "code", client_id: client, redirect_uri: redirect, scope, state: kept.state, nonce: kept.nonce,
    code_challenge: challenge, code_challenge_method: "S256",
  })) there.searchParams.set(name, value);
  location.assign(there);
}

/** Whether the browser comes from the provider: then the token is set, or the error is thrown. */
export async function end() {
  const query = new URLSearchParams(location.search), kept = JSON.parse(sessionStorage.getItem(KEPT) || "null");
  if (!query.has("state")) return false;
  sessionStorage.removeItem(KEPT);
  history.replaceState(null, "", location.pathname + location.hash);
  if (!kept || query.get("state") !== kept.state || !query.get("code")) {
    throw new Refused(0, { kind: "SignOnRefused", message: "This sign-on did not begin in this tab, or was cancelled. Begin again." });
  }
  token.set((await post("/api/sign-on", { code: query.get("code"), verifier: kept.verifier, nonce: kept.nonce })).token);
  return true;
}
